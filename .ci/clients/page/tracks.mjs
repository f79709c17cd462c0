// Two plans of one workspace on the review page, in a real browser: each track has its place in the list and its own address. A decision on
// one leaves the other as it was, and the head of each warns of the files that both name.
//
//   node tracks.mjs PROGRAM PACKAGES CHROMIUM FOLDER [PICTURES]
import assert from 'node:assert/strict';
import { join } from 'node:path';

import { place } from '../process.mjs';
import { accessible, Agent, Browser, Review } from './browser.mjs';
import { files, passkeys, workspace } from './stage.mjs';

const [program, packages, chromium, folder, pictures] = process.argv.slice(2);
const where = place(program, folder);
const here = workspace(where, 'parallel', files);
const form = { summary: 'Reword the form', constraints: ['No new words for translators', 'The form stays readable at 320 pixels'],
  context_notes: 'The texts come from `web/login.html`.\nTranslators get them once a week.', reasoning: 'Users ask support what a passkey is.',
  steps: [
    { title: 'Reword the hints', type: 'chore', risk: 'low', details: 'Say what a passkey is.', relevant_file_paths: ['web/login.html'],
      context_hints: ['Edit `web/login.html`.'], acceptance_criteria: ['No hint is longer than a line'] },
    { title: 'Reword the errors', type: 'chore', risk: 'low', details: 'Say what to do next.', relevant_file_paths: ['web/login.html'],
      context_hints: ['Edit `web/login.html`.'], acceptance_criteria: ['Each error names the next step'], dependencies: [1] },
  ] };

const browser = await Browser.start(packages, chromium);
const review = await Review.start(packages, here);
const login = await Agent.apart(packages, here, 'claude-code'), words = await Agent.apart(packages, here, 'codex');
try {
  await login.call('planning_submit_plan', passkeys);
  await words.call('planning_submit_plan', form);
  const ann = await browser.person({ viewport: { width: 1280, height: 800 } });
  const page = await ann.open(await review.link());
  await listed(page);
  await decidedApart(page);
  await warned(page);
  await inHead(page);
  assert.deepEqual(ann.complaints, [], 'the page complains of nothing');
} finally {
  await login.stop();
  await words.stop();
  await review.stop();
  await browser.stop();
}
console.log('tracks are listed, decided on apart, and warn of shared files');

// listed: the first view lists all open tracks; one opened from it has an address that leads back to it.
async function listed(page) {
  const places = page.getByRole('navigation', { name: 'Inbox' }).getByRole('list', { name: 'Workspaces' }).getByRole('button');
  
  await places.filter({ hasText: 'parallel · reword-the-form' }).waitFor();
  assert.equal(await places.filter({ hasText: 'parallel' }).count(), 2, 'main and one more track');
  await picture(page, 'tracks');
  await track(page, 'parallel · reword-the-form').click();
  for (const again of [false, true]) {
    if (again) await page.reload();
    await page.getByRole('heading', { name: 'Reword the form' }).waitFor();
    await page.getByRole('button', { name: /^Step 2, .*Reword the errors/ }).waitFor();
    assert.match(page.url(), /workspace=[^&]*(~|%7E)reword-the-form/);
  }
}

function track(page, name) {
  return page.getByRole('list', { name: 'Workspaces' }).getByRole('button').filter({ has: page.getByText(name, { exact: true }) });
}

// decidedApart: the approval of one track's plan leaves the other waiting.
async function decidedApart(page) {
  const facts = situation(page);
  await facts.getByText('No new words for translators').waitFor();
  await picture(page, 'waiting');
  await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
  await review.unlock(page);
  await page.getByRole('region', { name: 'What comes next' }).waitFor();
  await facts.getByText(/The plan was approved by/).waitFor();
  assert.equal((await words.call('planloop_status')).phase, 'executing');
  assert.equal((await login.call('planloop_status')).now.reason, 'awaiting_approval', 'the other plan still waits');
}

function situation(page) {
  return page.locator('[aria-label=Situation]');
}

// warned: each track names the other, once both have unfinished steps for a file.
async function warned(page) {
  const facts = situation(page);
  assert.equal(await facts.getByText('has steps for the same files').count(), 0, 'a draft is not at work');
  await track(page, 'parallel').click();
  await page.getByRole('region', { name: 'Decision' }).waitFor();
  await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
  await facts.getByText(/track reword-the-form has steps for the same files: web\/login\.html\. .*git worktree add/).waitFor();
  await track(page, 'parallel · reword-the-form').click();
  await facts.getByText(/track main has steps for the same files: web\/login\.html/).waitFor();
}

// inHead: what binds the work is in the head, above the steps.
async function inHead(page) {
  const facts = situation(page);
  await words.call('planning_mark_step', { step_id: 'S001', status: 'failed', note: 'Nobody answers for the texts.' });
  await facts.getByText(/S001 Reword the hints, failed: Nobody answers/).waitFor();
  const first = page.getByRole('button', { name: /^Step 1, / });
  for (const { width, height } of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => scrollTo(0, 0));
    const { y } = await first.boundingBox();
    assert.ok(y < height * 0.8, `the steps begin at ${y} of ${height} pixels`);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `head-${width}-${colorScheme}`);
    }
    await accessible(packages, page, 'the head');
  }
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}
