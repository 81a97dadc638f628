/** What element 121 asks of whoever sends mail. */

export type ScriptMessage = {
  /** One plain address. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
};

export type ScriptMail = {
  /**
   * Takes mails of a domain, to be sent soon and tried again; durable when it resolves with true. False when no mail
   * server and account are set up, or none under that code.
   */
  send(domain: string, messages: readonly ScriptMessage[], account?: string): Promise<boolean>;
  isAddress(text: string): boolean;
};
