import type { Page, Visit } from '../document.js';
import { messagePage } from './registration.view.js';

/** Result of a form that the page `/done` shows. */
export type FormResult =
  | { readonly message: 'allowed' | 'denied' | 'erased' | 'forgotSent' | 'verified' }
  | { readonly message: 'emailSent'; readonly email: string };

/** Returns the page that shows the result of a form. */
export function formResultPage({ texts }: Visit, result: FormResult): Page {
  const { approve, erase, forgot, verify, changeEmail } = texts;
  const home = { href: '/account', text: texts.account };
  switch (result.message) {
    case 'allowed':
      return messagePage(approve.allowedTitle, approve.allowedText);
    case 'denied':
      return messagePage(approve.deniedTitle, approve.deniedText);
    case 'erased':
      return messagePage(erase.doneTitle, erase.doneText);
    // This text must not reveal if the account exists.
    case 'forgotSent':
      return messagePage(forgot.sentTitle, forgot.sentText);
    case 'verified':
      return messagePage(verify.doneTitle, verify.doneText, home);
    case 'emailSent':
      return messagePage(changeEmail.sentTitle, changeEmail.sentText(result.email), home);
  }
}
