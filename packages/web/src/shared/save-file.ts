/** Time for the browser to begin with the file. */
const REVOKE_MS = 10_000;

/** Hands a text to the browser as a download, under this name. */
export const saveFile = (name: string, text: string, type = 'application/json'): void => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
};
