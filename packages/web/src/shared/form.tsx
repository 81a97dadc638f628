/**
 * Labelled inputs. Each has a visible label, perhaps a hint and a fault, joined to the input for screen readers. Values are
 * held by the caller (`value`, `onChange`).
 */
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

type FieldProps = {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
  readonly required?: boolean;
};

type FieldIds = {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
};

/** Label, hint and fault around any input; `children` gets the attributes that join them. */
export const Field = ({
  label,
  hint,
  error,
  required,
  children,
}: FieldProps & { children: (ids: FieldIds) => ReactNode }) => {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter((one) => one !== '').join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required ? <span aria-hidden> *</span> : null}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error !== undefined })}
      {hint ? (
        <div className="hint" id={`${id}-hint`}>
          {hint}
        </div>
      ) : null}
      {error ? (
        <div className="field-error" id={`${id}-error`}>
          {error}
        </div>
      ) : null}
    </div>
  );
};

type TextProps = FieldProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value' | 'id'> & {
    readonly value: string;
    readonly onChange: (value: string) => void;
  };

/** One line of text; `type` as for an input. */
export const TextField = ({ label, hint, error, required = false, onChange, ...input }: TextProps) => (
  <Field label={label} hint={hint} error={error} required={required}>
    {(ids) => (
      <input
        type="text"
        autoComplete="off"
        spellCheck={false}
        {...ids}
        {...input}
        required={required}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
);

type AreaProps = FieldProps & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  /** Fixed-width letters, for JSON and code. */
  readonly code?: boolean;
  readonly disabled?: boolean;
};

export const TextArea = ({ label, hint, error, required = false, onChange, code, ...area }: AreaProps) => (
  <Field label={label} hint={hint} error={error} required={required}>
    {(ids) => (
      <textarea
        {...ids}
        {...area}
        className={code ? 'code' : undefined}
        spellCheck={!code}
        required={required}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
);

export type Choice = { readonly value: string; readonly label: string; readonly disabled?: boolean };

type SelectProps = FieldProps & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly Choice[];
  readonly disabled?: boolean;
};

export const SelectField = ({
  label,
  hint,
  error,
  required = false,
  value,
  onChange,
  choices,
  disabled,
}: SelectProps) => (
  <Field label={label} hint={hint} error={error} required={required}>
    {(ids) => (
      <select {...ids} value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} disabled={choice.disabled}>
            {choice.label}
          </option>
        ))}
      </select>
    )}
  </Field>
);

type SwitchProps = {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
};

/** A check box that looks like what it is, with its label behind it. */
export const CheckField = ({ label, hint, checked, onChange, disabled }: SwitchProps) => {
  const id = useId();
  return (
    <div className="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint ? (
        <div className="hint" id={`${id}-hint`}>
          {hint}
        </div>
      ) : null}
    </div>
  );
};
