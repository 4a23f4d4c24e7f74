import { type AppKey, connectableApps } from '../connect-apps.js';
import { isLoopbackUrl } from '../connect-address.js';
import type { Page, Visit } from '../document.js';
import type { Texts } from '../texts/texts.js';
import type { SyncedApp } from '../connected-apps.js';
import { appName } from './approval.view.js';
import { CopyValue, LinkButton, QrCode, RefusalNotice, relativeTime } from './controls.js';

const appKeys = Object.keys(connectableApps) as AppKey[];

/** Returns the product name of an app, or a translated text for `other` and `script`. */
export function nameOf({ connect }: Texts, key: AppKey): string {
  return key === 'other' || key === 'script' ? connect[key] : connectableApps[key].name;
}

/** Returns the page on which a person chooses an app. */
export function connectPage({ texts }: Visit, { address }: { address: string }): Page {
  const { connect } = texts;
  const body = (
    <>
      {isLoopbackUrl(address) && <LoopbackNotice connect={connect} />}
      <ul class="options" role="list">
        {appKeys.map((key) => (
          <li>
            <a href={`/connect/${key}`}>
              <strong>{nameOf(texts, key)}</strong>
              <span class="quiet small">{connect.syncs[key]}</span>
            </a>
          </li>
        ))}
      </ul>
      {!isLoopbackUrl(address) && <PhoneQrCode connect={connect} address={address} />}
      <p>
        <a href="/console/">{connect.later}</a>
      </p>
    </>
  );
  return { title: connect.title, lead: connect.lead, isConnectTab: true, body };
}

function PhoneQrCode({ connect, address }: { connect: Texts['connect']; address: string }) {
  return (
    <section class="stack">
      <h2>{connect.phone}</h2>
      <p class="quiet small">{connect.phoneText}</p>
      <QrCode text={`${address}/connect`} alt={connect.phoneQr} />
    </section>
  );
}

function LoopbackNotice({ connect }: { connect: Texts['connect'] }) {
  return (
    <section class="notice stack">
      <h2>{connect.localTitle}</h2>
      <p class="small">{connect.localText}</p>
      <p>
        <code class="command">npm start -- --host 0.0.0.0</code>
      </p>
      <p class="quiet small">{connect.localCompose}</p>
    </section>
  );
}

/** Content of the page with the steps that connect one app. `key` selects the texts. */
export interface AppSteps {
  readonly key: AppKey;
  readonly address: string;
  /** Name of the account; null for a user of an OpenID provider who has not chosen a name. */
  readonly name: string | null;
  /** Secret of a new app password; absent unless the form has just created one. */
  readonly secret?: string | undefined;
  /** Path of the page that waits for the app. */
  readonly waitPath: string;
  /** Reason why no app password was created; absent without a problem. */
  readonly problem?: string | undefined;
}

/** Returns the page with the steps of one app. */
export function connectAppPage({ texts }: Visit, content: AppSteps): Page {
  const { connect } = texts;
  const { needsAppPassword } = connectableApps[content.key];
  const body = (
    <>
      <RefusalNotice>{content.problem}</RefusalNotice>
      {isLoopbackUrl(content.address) && content.key !== 'script' && (
        <LoopbackNotice connect={connect} />
      )}
      <CopyValue texts={texts} id="address" label={connect.address} value={content.address} />
      {needsAppPassword && <NameAndSecret texts={texts} content={content} />}
      <section class="stack">
        <h2>{content.key === 'script' ? connect.script : connect.stepsTitle}</h2>
        <ol class="steps">
          {connect.steps[content.key].map((step) => (
            <li>{step}</li>
          ))}
        </ol>
      </section>
      <div class="actions">
        <a class="button plain" href="/connect">
          {texts.back}
        </a>
        <a class="button" href={content.waitPath}>
          {connect.next}
        </a>
      </div>
    </>
  );
  return {
    title: connect.appTitle(nameOf(texts, content.key)),
    isConnectTab: true,
    body,
    isRefused: content.problem !== undefined,
  };
}

function NameAndSecret({ texts, content }: { texts: Texts; content: AppSteps }) {
  const { connect } = texts;
  const { key, name, secret } = content;
  return (
    <>
      {name === null ? (
        <p>
          {connect.noNameText} <a href={`/name?next=/connect/${key}`}>{connect.noNameLink}</a>
        </p>
      ) : (
        key !== 'script' && <CopyValue texts={texts} id="name" label={connect.name} value={name} />
      )}
      {secret === undefined ? (
        <form method="post" action={`/connect/${key}`}>
          {key !== 'script' && <p class="quiet small">{connect.secretLead}</p>}
          <button>{connect.makeSecret}</button>
        </form>
      ) : (
        <>
          <CopyValue texts={texts} id="secret" label={connect.secret} value={secret} />
          <p class="quiet small">{connect.secretOnce}</p>
        </>
      )}
    </>
  );
}

/** Content of the page that waits for an app. */
export interface ConnectState {
  readonly key: AppKey;
  /** Path of this page, for the link that loads the page again. */
  readonly pagePath: string;
  /** The connected app; undefined until its first request. */
  readonly app: SyncedApp | undefined;
  /** Number of podcasts; undefined while the service is unavailable. */
  readonly podcasts: number | undefined;
}

/**
 * Returns the page that waits for the first request of an app, then for the app's podcasts. A
 * script reloads the page when the attribute `data-wait` changes (apps/console/src/site.ts).
 */
export function connectWaitPage(visit: Visit, content: ConnectState): Page {
  const { texts } = visit;
  const { connect } = texts;
  const title = connect.waitTitle(nameOf(texts, content.key));
  if (content.app === undefined)
    return {
      title,
      isConnectTab: true,
      lead: connect.waitText,
      body: (
        <>
          <div data-wait="app" class="actions">
            <a class="button plain" href={`/connect/${content.key}`}>
              {connect.backToSteps}
            </a>
            <a class="button plain" href={content.pagePath}>
              {connect.check}
            </a>
          </div>
          <p class="quiet small">{connect.waitHelp}</p>
        </>
      ),
    };
  const body = (
    <>
      <p
        class="notice good"
        role="status"
        data-wait={content.podcasts === 0 ? 'podcasts' : undefined}
      >
        {connect.connectedText(
          appName(content.app.name),
          relativeTime(visit, content.app.lastSyncAt),
          content.podcasts,
        )}
      </p>
      {content.podcasts === 0 && <p class="quiet">{connect.noPodcasts}</p>}
      <LinkButton href="/console/">{connect.podcasts}</LinkButton>
      <p>
        <a href="/connect">{connect.another}</a>
      </p>
    </>
  );
  return { title: connect.connectedTitle, isConnectTab: true, body };
}
