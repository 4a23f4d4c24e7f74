import { Controller, Get, Header } from '@nestjs/common';
import { stylesheet } from './stylesheet.js';

/** What pages are made of beside their text. */
@Controller()
export class AssetsController {
  @Get(stylesheet.path)
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', 'public, max-age=31536000, immutable')
  style(): string {
    return stylesheet.text;
  }

  /** There is nothing here for search engines. */
  @Get('robots.txt')
  @Header('content-type', 'text/plain; charset=utf-8')
  robots(): string {
    return 'User-agent: *\nDisallow: /\n';
  }
}
