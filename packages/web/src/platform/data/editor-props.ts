/** What an editor of one field gets, whichever collection the field is of. */
import type { Raw } from './form-values.ts';

export type EditorProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: string | undefined;
  readonly required: boolean;
  /** What stands in the other inputs. */
  readonly raw: Raw;
};
