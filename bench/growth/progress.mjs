const width = 40;

/** Returns a function that draws a progress bar; without a terminal it prints each tenth. */
export function progressBar(what, total, { stream = process.stderr } = {}) {
  let last = -1;
  return (done) => {
    const share = total === 0 ? 1 : Math.min(done / total, 1);
    const step = Math.floor(share * (stream.isTTY ? 100 : 10));
    if (step === last) return;
    last = step;
    const bar = '#'.repeat(Math.round(share * width)).padEnd(width, '.');
    const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`;
    const text = `${what} [${bar}] ${Math.floor(share * 100)} %, ${counts}`;
    stream.write(stream.isTTY ? `\r${text}${share === 1 ? '\n' : ''}` : `${text}\n`);
  };
}
