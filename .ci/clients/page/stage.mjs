// The stage for the page's stories: workspaces with files, agents, and realistic plans.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// workspace creates another workspace of the same user.
export function workspace(where, name, files) {
  const folder = join(dirname(where.workspace), name);
  mkdirSync(join(folder, '.git'), { recursive: true });
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${file}\n`);
  }
  return { ...where, workspace: folder };
}

export const files = ['README.md', 'internal/session/session.go', 'internal/session/session_test.go', 'internal/login/login.go', 'web/login.html', 'migrations/0007_users.sql'];

// passkeys is a realistic plan to decide on.
export const passkeys = {
  summary: 'Users sign in with passkeys. Passwords stay as a way back until everybody has one.',
  context_notes: 'Sessions live in `internal/session`; the cookie is signed there and nowhere else.',
  questions: ['Are security keys without a screen to be supported?'],
  steps: [
    { title: 'Read how sessions are kept', type: 'chore', risk: 'low', tools: ['read'],
      details: 'Find every place that trusts the session cookie.', relevant_file_paths: ['internal/session/session.go'],
      context_hints: ['Read `internal/session/session.go`: it signs the cookie.'], acceptance_criteria: ['Every place that reads the cookie is listed'] },
    { title: 'Add the table of passkeys', type: 'feature', risk: 'high', tools: ['edit', 'shell'],
      details: 'One row a key: user, public key, counter, name, last use. The migration goes back as well.', dependencies: [1],
      relevant_file_paths: ['migrations/0007_users.sql'], creates: ['migrations/0008_passkeys.sql'], context_hints: ['Follow `migrations/0007_users.sql`.'],
      acceptance_criteria: ['The migration runs forth and back on a copy of production'], verify: 'ls migrations/0008_passkeys.sql' },
    { title: 'Register a passkey', type: 'feature', risk: 'medium', tools: ['edit'],
      details: 'The challenge lives five minutes and is used once.', dependencies: [2], relevant_file_paths: ['internal/login/login.go'],
      context_hints: ['Begin at `internal/login/login.go`.'], acceptance_criteria: ['A challenge that was used is refused', 'The key of another origin is refused'] },
    { title: 'Sign in with a passkey', type: 'feature', risk: 'high', tools: ['edit'],
      details: 'Check the counter: a cloned key counts backwards.', dependencies: [2], relevant_file_paths: ['internal/login/login.go', 'web/login.html'],
      context_hints: ['See `web/login.html` for the form.'], acceptance_criteria: ['A counter that went back signs nobody in'] },
    { title: 'Remove the password form', type: 'feature', risk: 'medium', tools: ['edit'], dependencies: [3, 4],
      details: 'Whoever has a passkey is not asked for a password any more.', relevant_file_paths: ['web/login.html'],
      context_hints: ['Edit `web/login.html`.'], acceptance_criteria: ['Users without a passkey still see the form'] },
    { title: 'Test sign-in from end to end', type: 'test', risk: 'low', tools: ['shell'], dependencies: [5],
      details: 'With a virtual authenticator, in a real browser.', relevant_file_paths: ['internal/session/session_test.go'],
      context_hints: ['Extend `internal/session/session_test.go`.'], acceptance_criteria: ['Both ways in are covered'], verify: 'ls internal/session' },
    { title: 'Tell users in the README', type: 'chore', risk: 'low', tools: ['edit'], dependencies: [5],
      details: 'Two sentences and a picture.', relevant_file_paths: ['README.md'], context_hints: ['Add to `README.md`.'],
      acceptance_criteria: ['A new user finds how to add a passkey'] },
  ],
};

// revised returns the same plan after a review.
export function revised() {
  const steps = structuredClone(passkeys.steps);
  steps[4] = { ...steps[4], title: 'Keep the password form behind a link', details: 'It goes once 95 % of users have a passkey, in a plan of its own.', risk: 'low' };
  steps[1].acceptance_criteria.push('A full table scan takes no lock');
  steps.push({ title: 'Measure how many users have a passkey', type: 'feature', risk: 'low', tools: ['edit'], dependencies: [4],
    details: 'A count a day, without names.', relevant_file_paths: ['internal/login/login.go'], context_hints: ['Count in `internal/login/login.go`.'],
    acceptance_criteria: ['The number stands on the dashboard'] });
  return { ...passkeys, steps };
}

// many returns a plan with so many steps.
export function many(number) {
  return {
    summary: `A plan of ${number} steps.`,
    steps: Array.from({ length: number }, (_, i) => ({
      title: `Move table ${i + 1} to the new cluster`, type: 'chore', risk: ['low', 'medium', 'high'][i % 3], tools: ['shell'],
      details: 'Copy it, compare the counts of rows, then switch reads.', relevant_file_paths: ['README.md'],
      context_hints: ['Note it in `README.md`.'], acceptance_criteria: ['The counts agree'], dependencies: i > 0 ? [Math.max(1, i - (i % 4))] : [],
    })),
  };
}
