export { ActionLink, Card, Field, Header, Row } from './components.js';
export { frameTexts, type Language, languages, numbersOf } from './texts.js';
