// What the tests of this folder say about clients that leave.
import assert from 'node:assert/strict';

async function metric(pattern) {
  const text = await (await fetch(`${process.env.WEFT_URL}/metrics`)).text();
  return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
}

const leftCount = () => metric(/^weft_http_requests_total\{.*status="499"\} (\d+)$/gm);
const runningCount = () => metric(/^weft_sequences_running\{.*\} (\d+)$/gm);

async function sequences(isWanted) {
  while (!isWanted(await runningCount())) await new Promise((resolve) => setTimeout(resolve, 20));
}

// Resolves when something is being computed.
export const untilBusy = () => sequences((count) => count > 0);

// `leave` begins an exchange and goes away before its end. The server counts it with the status 499, and nothing is computed any more.
// It is called again where that is not so: the bundled model is fast, and the client may have been too late.
export async function assertNoticed(leave) {
  const before = await leftCount();
  for (let i = 0; i < 5; ++i) {
    await leave();
    await sequences((count) => count === 0);
    if (await leftCount() > before) return;
  }
  assert.fail('nothing has the status 499');
}
