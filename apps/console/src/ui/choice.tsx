interface ChoiceProps<Value extends string> {
  readonly id: string;
  readonly label: string;
  /** Shown texts of the selectable values, by value. */
  readonly options: Readonly<Partial<Record<Value, string>>>;
  readonly value: Value;
  onChoice(value: Value): void;
}

/** Renders a labelled select field. */
export function Choice<Value extends string>({
  id,
  label,
  options,
  value,
  onChoice,
}: ChoiceProps<Value>) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => onChoice(currentTarget.value as Value)}
      >
        {Object.entries(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text as string}
          </option>
        ))}
      </select>
    </div>
  );
}
