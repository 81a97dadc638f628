/** An item in a form that POST takes back: no stamps, secrets masked, files by their address. */
import { isObject, type Json } from '../rest/json.ts';
import { showItem } from './items.ts';
import type { ModelClass } from './model-class.ts';

export const exportItem = (model: ModelClass, data: Json): Json => {
  const { ext, ...shown } = showItem(model, data);
  const { ct: _ct, lwt: _lwt, ...own } = isObject(ext) ? ext : {};
  const exported: Json = { ...shown, ext: own };
  for (const { name, data_type } of model.properties) {
    const info = exported[name];
    if (data_type !== 'attachment' || !isObject(info)) continue;
    exported[name] = { ...info, href: `/rest/v1/model/${model.classname}/${String(data.id)}/${name}` };
  }
  return exported;
};
