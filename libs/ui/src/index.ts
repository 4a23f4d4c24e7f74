export { ActionLink, Card, Field, Header, Row } from './components.js';
export { frameTexts, type Language, languages, numberFormatsFor } from './texts.js';
