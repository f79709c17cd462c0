// The official conformance suite against the program over HTTP, without the scenarios that call tools of the suite's own example server.
//
//   node conformance.mjs PROGRAM SUITE FOLDER
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { place, run, serveHTTP } from './process.mjs';

const [program, suite, folder] = process.argv.slice(2);

const revisions = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'logging-set-level',
    'ping',
    'completion-complete',
    'tools-list',
    'server-sse-polling',
    'server-sse-multiple-streams',
    'resources-list',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'server-stateless',
    'completion-complete',
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'sep-2164-resource-not-found',
    'prompts-list',
    'dns-rebinding-protection',
    'caching',
    'http-header-validation',
  ],
};

// These checks of server-stateless call diagnostic tools (test_missing_capability, test_streaming_elicitation, test_logging_tool) that only
// the suite's example server has; without them the suite counts the check as failed. All other checks must pass, and these must fail for
// exactly that reason.
const untestable = new Set([
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]);

// A scenario that only observes: it passes without any checks.
const observing = new Set(['server-sse-polling']);

// judge returns the problems with a scenario's outcome.
function judge(scenario, status, checks) {
  const failed = checks.filter((check) => check.status === 'FAILURE');
  const expected = scenario === 'server-stateless' ? untestable : new Set();
  const wrong = failed
    .filter((check) => !expected.has(check.id) || !/^Not testable: .*diagnostic tool/.test(check.errorMessage))
    .map((check) => `${check.id}: ${check.errorMessage}`);
  for (const id of expected)
    if (!failed.some((check) => check.id === id)) wrong.push(`${id} was expected not to be testable: look what changed`);
  if (!observing.has(scenario) && !checks.some((check) => check.status === 'SUCCESS')) wrong.push('it checked nothing');
  if (status !== (expected.size > 0 ? 1 : 0)) wrong.push(`exit status ${status}`);
  return wrong;
}

async function check(where, url, revision, scenario) {
  const results = join(folder, revision, scenario);
  const args = [suite, 'server', '--url', url, '--spec-version', revision, '--scenario', scenario, '--output-dir', results];
  const { status, output, errors } = await run(process.execPath, args, { cwd: where.workspace, env: where.env });
  const [outcome] = filesIn(results);
  if (!outcome) return [`no results:\n${output}${errors}`];

  const checks = JSON.parse(readFileSync(join(results, outcome, 'checks.json'), 'utf8'));
  const passed = checks.filter((check) => check.status === 'SUCCESS').length;
  console.log(`${revision} ${scenario}: ${passed} passed`);
  for (const { status, id, errorMessage } of checks)
    if (status === 'WARNING') console.log(`  warning: ${id}: ${errorMessage}`);
  return judge(scenario, status, checks);
}

function filesIn(directory) {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

const where = place(program, folder);
const { server, origin } = await serveHTTP(where);
try {
  for (const [revision, scenarios] of Object.entries(revisions))
    for (const scenario of scenarios)
      for (const fault of await check(where, `${origin}/mcp`, revision, scenario)) {
        console.error(`${revision} ${scenario}: ${fault}`);
        process.exitCode = 1;
      }
  const status = await server.stop();
  if (status !== 0) {
    console.error(`the server ended with ${status} after SIGTERM:\n${server.errors}`);
    process.exitCode = 1;
  }
} finally {
  server.kill();
}
