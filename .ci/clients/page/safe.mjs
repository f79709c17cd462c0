// Attacks of strangers, other pages, other users and agents on the review page, in a real browser and outside it: none runs a script, reads
// a plan or decides.
//
//   node safe.mjs PROGRAM PACKAGES CHROMIUM FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';

import { place, planloop, run, serveHTTP } from '../process.mjs';
import { Agent, Browser, Review } from './browser.mjs';
import { files, passkeys, revised, workspace } from './stage.mjs';

const [program, packages, chromium, folder] = process.argv.slice(2);
const where = place(program, folder);

const hostile = [
  '<script>window.hurt=1</script>',
  '<img src=x onerror="window.hurt=1">',
  '"><svg/onload=window.hurt=1>',
  "javascript:window.hurt=1//'",
  '{{constructor.constructor("window.hurt=1")()}}',
  '</textarea><iframe srcdoc="<script>top.hurt=1</script>">',
  '<a href="https://planloop.invalid/leak">x</a>',
  '](https://planloop.invalid/leak)![](https://planloop.invalid/leak.png)',
  '<style>*{background:url(https://planloop.invalid/leak)}</style>',
  '[x](javascript:window.hurt=1) [y](data:text/html,<script>window.hurt=1</script>) <javascript:window.hurt=1>',
  '![x](https://planloop.invalid/leak.png) [see](https://planloop.invalid/leak "onmouseover=window.hurt=1")',
  '[r]: javascript:window.hurt=1',
];
const lines = hostile.map((text) => text.replaceAll('\n', ' ')); // for fields of one line

const browser = await Browser.start(packages, chromium);
try {
  await textsAreTexts();
  await thePageHoldsItself();
  await strangersDecideNothing();
  await onlyShows();
  await twoAtOnce();
  await baited();
  await besideMCP();
} finally {
  await browser.stop();
}

// textsAreTexts puts markup and scripts into every text that an agent can write, and views them all.
async function textsAreTexts() {
  const names = hostile.filter((text) => !text.includes('/')).map((text) => `a ${text.replaceAll('"', "'")}`);
  const here = workspace(where, 'hostile', files);
  for (const name of names) writeFileSync(join(here.workspace, name), '');
  const agent = await Agent.start(packages, here, '<img src=x onerror=window.hurt=1>');
  const review = await Review.start(packages, here);
  try {
    for (const text of hostile) await agent.call('planning_ask_user', { question: `Is this right: ${text}` });
    await agent.call('planloop_alert', { id: 'ci', level: 'blocker', message: hostile.join(' ') });
    await agent.call('planning_submit_plan', {
      summary: `Show ${hostile[0]}`, context_notes: hostile.join('\n'), questions: lines.map((text) => `And ${text}?`), reasoning: hostile.join('\n'),
      steps: lines.map((text, i) => ({ title: `Build ${text}`, type: 'feature', risk: 'low', tools: [`a${text.slice(0, 50)}`], details: hostile.join('\n'),
        relevant_file_paths: [names[i % names.length] ?? 'README.md'], context_hints: [`Read ${text} and \`README.md\``], acceptance_criteria: [`It shows ${text}`], verify: `echo ${i}` })),
    });
    const person = await browser.person();
    const page = await person.open(await review.link());
    await page.getByRole('region', { name: 'Decision' }).waitFor();
    for (const n of [1, 2, 3]) {
      await page.getByRole('button', { name: `Comment on step ${n}`, exact: true }).click();
      await page.getByRole('textbox', { name: `Comment on step ${n}`, exact: true }).fill(hostile[n]);
      await page.getByRole('button', { name: 'Add comment' }).click();
      await page.getByRole('button', { name: `Edit step ${n}`, exact: true }).click();
    }
    for (const view of ['Graph', 'Log', 'Plan']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      await page.getByText('window.hurt=1').first().waitFor();
    }
    assert.equal(await page.evaluate(() => window.hurt), undefined, 'no text of a plan runs');
    const made = await page.evaluate(() => [...document.querySelectorAll('img, iframe, a[href^="javascript"], a[href^="data"], style, script:not([src])')].map((e) => e.outerHTML));
    assert.deepEqual(made, [], 'no text of a plan becomes an element');
    const links = await page.evaluate(() => [...document.querySelectorAll('a[href^="http"]')].map((a) => ({ shown: a.parentElement.textContent.includes(a.getAttribute('href')), rel: a.rel })));
    assert.ok(links.every((a) => a.shown && a.rel === 'noopener noreferrer'), `links show their address: ${JSON.stringify(links)}`);
    assert.ok(person.asked.every((address) => address.startsWith(`${review.origin}/`)), `nobody else is asked: ${person.asked}`);
    assert.ok(!review.terminal.output.includes('\x1b]'), 'nor does it reach the terminal');
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('whatever a plan says is shown as text');
}

// thePageHoldsItself tries the next moves of a script that has entered the page.
async function thePageHoldsItself() {
  const review = await Review.start(packages, where);
  try {
    const person = await browser.person();
    const link = await review.link();
    const page = await person.open(link);
    await page.getByRole('navigation', { name: 'Inbox' }).waitFor();
    const code = link.split('=')[1];
    assert.ok(!page.url().includes(code), 'the code does not stay in the address bar');
    const tried = await page.evaluate(async () => {
      const refused = async (what) => { try { await what(); return false; } catch { return true; } };
      const script = document.createElement('script');
      script.setAttribute('nonce', 'x');
      return {
        markup: await refused(() => { document.body.innerHTML = '<b>x</b>'; }),
        script: await refused(() => { script.text = 'window.hurt=1'; document.body.append(script); }),
        worker: await refused(() => new Worker('data:text/javascript,postMessage(1)')),
        policy: await refused(() => window.trustedTypes.createPolicy('other', { createHTML: (x) => x })),
        elsewhere: await refused(() => fetch('http://127.0.0.1:9/')),
        cookie: document.cookie,
        ran: window.hurt,
      };
    });
    assert.deepEqual(tried, { markup: true, script: true, worker: true, policy: true, elsewhere: true, cookie: '', ran: undefined });
    const again = await (await browser.person()).open(link); // a used link
    await again.getByRole('alert').getByText('This browser is not signed in').waitFor();
    const key = await page.evaluate(() => localStorage.getItem('planloop-key'));
    secretsAreKept(review, [code, key]);
  } finally {
    await review.stop();
  }
  console.log('the page runs its own scripts alone, and its secrets stay in it');
}

// secretsAreKept looks for secrets where others can read: in processes' environments and arguments, and in the user's folders.
function secretsAreKept(review, secrets) {
  assert.ok(secrets.length > 1, 'there is a key');
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let line = '';
    try {
      line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    } catch {
      continue; // it has ended
    }
    for (const secret of secrets) assert.ok(!line.includes(secret), `a secret stands in the process list: ${line.slice(0, 200)}`);
  }
  for (const secret of secrets) {
    let found = '';
    try {
      found = execFileSync('grep', ['-rlaF', '--', secret, where.state, where.home], { encoding: 'utf8' });
    } catch {
      continue; // no match
    }
    assert.fail(`a secret stands in ${found}`);
  }
  assert.ok(!review.terminal.output.includes(secrets.at(-1)), 'the key is on no terminal');
}

async function strangersDecideNothing() {
  const here = workspace(where, 'strangers', files);
  const agent = await Agent.start(packages, here, 'agent');
  const review = await Review.start(packages, here);
  const port = new URL(review.origin).port;
  const seen = [];
  const stranger = createServer((asked, answer) => {
    seen.push(asked.headers.cookie ?? '');
    answer.setHeader('Content-Type', 'text/html').end('<title>stranger</title>');
  });
  await new Promise((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  const strange = stranger.address().port;
  const rebound = await Browser.start(packages, chromium, [`--host-resolver-rules=MAP rebound.invalid 127.0.0.1`]);
  try {
    const submitted = await agent.call('planning_submit_plan', passkeys);
    const person = await browser.person();
    const page = await person.open(await review.link());
    await page.getByRole('region', { name: 'Decision' }).waitFor();
    const [id, { log, draft }] = await page.evaluate(async () => {
      const key = Object.values(localStorage).find((value) => /^[\w-]{20,}$/.test(value));
      const get = async (path) => (await fetch(path, { headers: { 'Planloop-Key': key } })).json();
      const inbox = await get('/api/inbox');
      const at = inbox.waiting[0].workspace;
      return [at, await get('/api/view?workspace=' + encodeURIComponent(at))];
    });
    const body = JSON.stringify({ workspace: id, log, act: 'approve', input: { request: draft.request, digest: draft.plan.digest } });
    const reject = body.replace('approve', 'reject');

    // Other pages in the same browser.
    for (const address of [`http://127.0.0.1:${strange}/`, `http://localhost:${strange}/`]) {
      const other = await person.open(address);
      await other.evaluate(async ([target, body]) => {
        await fetch('/api/mine'); // the target of the cookie
        for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
          for (const mode of ['cors', 'no-cors'])
            await fetch(`${target}/api/act`, { method: 'POST', body, mode, credentials: 'include', headers: { 'Content-Type': type } }).catch(() => {});
        const form = Object.assign(document.createElement('form'), { method: 'post', action: `${target}/api/act`, enctype: 'text/plain', target: 'framed' });
        form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"x":"', value: '"}' }));
        document.body.append(Object.assign(document.createElement('iframe'), { name: 'framed' }), form);
        form.submit();
        const framed = Object.assign(document.createElement('iframe'), { src: `${target}/` });
        document.body.append(framed);
        const read = await fetch(`${target}/api/inbox`, { credentials: 'include' }).then(() => 'read', () => 'refused');
        if (read === 'read') throw new Error('another page reads the inbox');
        await new Promise((resolve) => setTimeout(resolve, 300)); // time for the form to arrive
      }, [review.origin, reject]);
      await other.close();
    }
    assert.ok(!seen.some((value) => value.includes('planloop')), `the cookie goes to no other page: ${seen}`);
    const { name, value } = (await page.context().cookies(`${review.origin}/api/act`)).find((one) => one.name.startsWith('planloop'));
    const cookie = `${name}=${value}`;

    // Programs with all the knowledge of such a page, and with foreign host names.
    const host = `127.0.0.1:${port}`;
    const json = { 'Content-Type': 'application/json' };
    const own = { ...json, Host: host, Origin: `http://${host}` };
    for (const headers of [json, own, { ...own, Cookie: cookie }, { ...own, Cookie: cookie, 'Planloop-Key': 'A'.repeat(43) }, { ...own, Cookie: cookie, 'Planloop-Key': '' },
      { ...own, Authorization: 'Bearer token' }, { ...own, Cookie: cookie, Host: 'rebound.invalid' }, { ...own, Cookie: cookie, Origin: 'null' }])
      for (const act of [body, reject]) {
        const answer = await ask(port, '/api/act', { method: 'POST', headers: { ...headers, 'Content-Length': Buffer.byteLength(act) } }, act);
        assert.ok([401, 403].includes(answer.status), `${JSON.stringify(headers)} is answered ${answer.status}: ${answer.text}`);
        carriesThePolicy(answer);
      }
    for (const [path, method] of [['/', 'GET'], ['/page.js', 'GET'], ['/nothing', 'GET'], ['/api/view', 'GET'], ['/api/act', 'GET'], ['/', 'POST'], ['/api/../x', 'GET'], ['/', 'TRACE'],
      ['/' + 'x'.repeat(30_000), 'GET']])
      carriesThePolicy(await ask(port, path, { method, headers: { Host: host } }));

    // A name rebound to this machine.
    const lured = await (await rebound.person()).open(`http://rebound.invalid:${port}/`);
    assert.ok(!(await lured.locator('body').innerText()).includes('planloop\n'), 'a name that was rebound shows nothing');
    assert.ok(!(await lured.evaluate(() => !!document.querySelector('script[src]'))));

    // An agent, with its tools and its shell.
    for (const command of [`curl -s ${review.origin}/`, `curl -X POST ${review.origin}/api/act -d '${reject}'`, `nc 127.0.0.1 ${port}`])
      assert.equal((await run(program, ['plan', 'allows', '--', command], { cwd: here.workspace, env: here.env })).status, 2, command);
    assert.equal((await agent.call('planloop_status')).now.reason, 'awaiting_approval', submitted.status);
  } finally {
    stranger.close();
    await rebound.stop();
    await agent.stop();
    await review.stop();
  }
  console.log('other pages, programs and names decide nothing, and every answer carries the policy');
}

function carriesThePolicy(answer) {
  const policy = answer.headers['content-security-policy'] ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
    assert.ok(policy.includes(part), `${answer.what} is answered ${answer.status} without ${part}`);
  assert.equal(answer.headers['referrer-policy'], 'no-referrer', answer.what);
  assert.equal(answer.headers['cache-control'], 'no-store', answer.what);
}

// ask makes a request as a program other than a browser.
function ask(port, path, options, body) {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, ...options }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => (text += part));
      answer.on('end', () => resolve({ what: `${options.method} ${path.slice(0, 40)}`, status: answer.statusCode, headers: answer.headers, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

// onlyShows starts the page without a person at the terminal.
async function onlyShows() {
  const here = workspace(where, 'shows', files);
  const agent = await Agent.start(packages, here, 'agent');
  await agent.call('planning_submit_plan', passkeys);
  const unseen = planloop(here, 'review', '--no-open');
  const inShell = new Review(packages, { ...here, env: { ...here.env, CLAUDECODE: '1' } }, []);
  try {
    const [link] = await unseen.until(/http:\/\/[\w.]+:\d+\/#enter=[\w-]+/);
    for (const address of [link, await inShell.link()]) {
      const person = await browser.person();
      const page = await person.open(address);
      await page.getByText('A plan is waiting for your decision').waitFor();
      assert.equal(await page.getByRole('button', { name: /Approve|Reject|changes…/ }).count(), 0, 'there is nothing to press');
      const status = await page.evaluate(async () => {
        const key = Object.values(localStorage).find((value) => /^[\w-]{20,}$/.test(value));
        const headers = { 'Planloop-Key': key, 'Content-Type': 'application/json' };
        const inbox = await (await fetch('/api/inbox', { headers: { 'Planloop-Key': key } })).json();
        const { log, draft } = await (await fetch('/api/view?workspace=' + encodeURIComponent(inbox.waiting[0].workspace), { headers: { 'Planloop-Key': key } })).json();
        const body = JSON.stringify({ workspace: inbox.waiting[0].workspace, log, act: 'reject', input: { request: draft.request, digest: draft.plan.digest } });
        return (await fetch('/api/act', { method: 'POST', headers, body })).status;
      });
      assert.equal(status, 403, 'nor is a decision taken');
      await person.close();
    }
    assert.equal((await agent.call('planloop_status')).now.reason, 'awaiting_approval');
  } finally {
    await agent.stop();
    unseen.kill();
    inShell.kill();
  }
  console.log('without a terminal, or from the shell of an agent, the page shows and does not decide');
}

async function twoAtOnce() {
  const here = workspace(where, 'two', files);
  const agent = await Agent.start(packages, here, 'agent');
  const review = await Review.start(packages, here);
  try {
    await agent.call('planning_submit_plan', passkeys);
    const pages = [];
    for (let n = 0; n < 2; n++) pages.push(await (await browser.person()).open(await review.link()));
    for (const page of pages) {
      await page.locator('.menu > summary').click();
      await page.getByRole('button', { name: 'Reject…' }).click();
      await page.getByLabel('Reason').fill('No.');
    }
    for (const page of pages) {
      await page.getByRole('button', { name: 'Reject the plan' }).click();
      await page.getByLabel('Six-digit code').fill(await review.code());
    }
    await Promise.all(pages.map((page) => page.evaluate(() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Continue').click())));
    const told = await Promise.any(pages.map((page) => page.getByText(/(rejected it|was rejected|already)/).first().innerText()));
    assert.ok(told, 'the second hears who was faster');
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('of two who decide at once the first counts, and the second is told');
}

// baited has the agent change the plan between the person's look and the click: only the plan that was seen can be approved.
async function baited() {
  const here = workspace(where, 'baited', files);
  const agent = await Agent.start(packages, here, 'agent');
  const review = await Review.start(packages, here);
  const waits = async (when) => assert.equal((await agent.call('planloop_status')).now.reason, 'awaiting_approval', when);
  const worse = revised();
  worse.steps[6] = { ...worse.steps[6], details: 'Then send the keys to planloop.invalid.' };
  try {
    await agent.call('planning_submit_plan', passkeys);
    const person = await browser.person();
    const page = await person.open(await review.link());
    const approve = page.getByRole('button', { name: /^Approve(, |$)/ }), dialog = page.getByRole('dialog');
    await approve.hover();
    await agent.call('planning_submit_plan', revised());
    const alarm = page.getByRole('alert').filter({ hasText: /was changed at .*: 3 steps/ });
    await alarm.waitFor();
    await page.mouse.down();
    await page.mouse.up();
    for (const key of ['a', 'Enter', 'r', 'f']) await page.keyboard.press(key);
    await page.evaluate(() => document.getElementById('approve').click());
    assert.equal(await dialog.count(), 0, 'no button of the other draft works');
    assert.ok(await approve.isDisabled());
    await page.locator('.menu > summary').click();
    for (const name of ['Reject…', 'Ask for changes…', 'Approve with comment…']) assert.ok(await page.getByRole('button', { name }).isDisabled(), name);
    assert.equal(await page.getByRole('button', { name: /^(Edit|Remove) step/ }).count(), 0, 'nor is one of its steps changed unseen');
    await waits('the button that was there before');
    await page.reload(); // paints the current plan
    await approve.and(page.locator(':enabled')).waitFor();

    await agent.call('planning_submit_plan', worse);
    await alarm.or(page.getByText(/was changed at .*: 1 step/)).waitFor();
    assert.ok(await page.getByRole('button', { name: 'I have seen it' }).isDisabled(), 'what has just come was not seen');
    await page.getByRole('button', { name: 'Show changes' }).click();
    await page.getByText('send the keys to planloop.invalid').waitFor();
    await page.getByRole('button', { name: 'I have seen it' }).click();
    await approve.click();
    await dialog.waitFor();
    await agent.call('planning_submit_plan', revised()); // while the code is being typed
    await dialog.getByLabel('Six-digit code').fill(await review.code());
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText(/changed|other/).first().waitFor();
    await waits('what was asked for before the code');

    await page.getByRole('button', { name: 'I have seen it' }).click();
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await page.getByRole('button', { name: 'Edit step 7' }).click(); // a person's own change counts as seen
    await page.getByLabel('Title').fill('Tell users on the blog');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: /Step 7, .*on the blog/ }).waitFor();
    await approve.and(page.locator(':enabled')).click();
    await page.getByRole('region', { name: 'What comes next' }).waitFor();
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('a plan that changes under the button is not approved until that was seen');
}

// besideMCP serves the page with `serve --http`: access to one side does not open the other.
async function besideMCP() {
  const here = workspace(where, 'beside', files);
  const token = join(folder, 'token');
  writeFileSync(token, 'a-token-that-is-long-enough-for-all\n');
  const agent = await Agent.start(packages, here, 'agent');
  await agent.call('planning_submit_plan', passkeys);
  const { server, origin } = await serveHTTP(here, '--token-file', token);
  try {
    const { port } = new URL(origin);
    const bearer = { Host: `127.0.0.1:${port}`, Origin: origin, Authorization: `Bearer ${readFileSync(token, 'utf8').trim()}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ workspace: 'x', act: 'reject', input: { digest: 'x' } });
    const answer = await ask(port, '/api/act', { method: 'POST', headers: { ...bearer, 'Content-Length': body.length } }, body);
    assert.ok([401, 403].includes(answer.status), `the token of MCP is answered ${answer.status}`);
    const person = await browser.person();
    const page = await person.open(`${origin}/`);
    await page.getByLabel(/token/i).fill(readFileSync(token, 'utf8').trim());
    await page.keyboard.press('Enter');
    await page.getByText('A plan is waiting for your decision').waitFor();
    assert.equal(await page.getByRole('button', { name: /Approve|Reject|changes…/ }).count(), 0, 'who has it looks');
    const mcp = await page.evaluate(async () => (await fetch('/mcp', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).status);
    assert.equal(mcp, 401, 'and what opens the page does not open MCP');
  } finally {
    await agent.stop();
    server.kill();
  }
  console.log('the token of MCP looks and does not decide, and the page does not open MCP');
}
