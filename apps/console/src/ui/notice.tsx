import { signal } from '@preact/signals';
import { texts } from '../texts/texts.js';

const notice = signal<{ text: string; isBad: boolean }>({ text: '', isBad: false });

/** Says something that happened, to those who see the page and those who hear it. It stays until the next one. */
export function say(text: string, isBad = false): void {
  notice.value = { text, isBad };
}

/** Where {@link say} says it. */
export function Notice() {
  const { text, isBad } = notice.value;
  return (
    <div class="toast" role="status">
      {text !== '' && (
        <p class={isBad ? 'notice bad' : 'notice good'}>
          <bdi>{text}</bdi>
          <button class="bare" onClick={() => say('')}>
            {texts.dismiss}
          </button>
        </p>
      )}
    </div>
  );
}
