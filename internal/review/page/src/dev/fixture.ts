// Sample workspaces: a resubmitted plan of twelve steps, a run, a plan of five hundred steps, and no plan.

import { Fault, type Source } from '../source'
import type { Change, Comment, Inbox, Log, Plan, Step, View } from '../types'

const now = Date.now()
const ago = (minutes: number) => new Date(now - minutes * 60e3).toISOString()

function step(number: number, title: string, more: Partial<Step> = {}): Step {
  return { id: 'S' + String(number).padStart(3, '0'), number, title, status: 'pending', ready: !more.depends_on?.length, ...more }
}

function plan(id: string, objective: string, steps: Step[], more: Partial<Plan> = {}): Plan {
  const counts: Record<string, number> = {}
  for (const s of steps) counts[s.status] = (counts[s.status] ?? 0) + 1
  return {
    id, objective, status: 'active', version: 1, digest: 'a91f3c0b7d52e864'.repeat(4), short: 'a91f3c0b',
    progress: { done: counts.done ?? 0, of: steps.length, counts }, steps, created_by: 'claude-code', created_at: ago(12), ...more,
  }
}

const upload: Step[] = [
  step(1, 'Read how uploads are stored today and write down what must not change', {
    type: 'chore', risk: 'low', tools: ['view', 'grep'], hints: ['`internal/upload/store.go`: Put and its callers'],
    paths: ['internal/upload/store.go', 'docs/upload.md'], criteria: [{ text: 'docs/upload.md names every caller of Put' }],
    details: 'Three callers are known. The import job calls it without a context; find out whether it may.',
  }),
  step(2, 'Add the column `digest` to uploads with a migration that can be taken back', {
    type: 'feature', risk: 'high', depends_on: [1], waiting_on: [1], tools: ['bash_execute', 'create_file'], creates: ['migrations/0042_upload_digest.sql'],
    paths: ['migrations'], criteria: [{ text: 'migrate up and down on a copy of production takes under 30 s' }, { text: 'Old rows read as before' }],
    verify: 'go test ./internal/upload -run TestMigration', critical: true, requires_approval: true,
    details: 'The table holds 41 million rows. Add the column as NULL, backfill in batches of 5,000, then set NOT NULL.\n\nThe backfill runs as a job of its own so that a deploy does not wait for it.',
  }),
  step(3, 'Compute the digest while the upload is streamed, not afterwards', {
    type: 'feature', risk: 'medium', depends_on: [1], waiting_on: [1], tools: ['str_replace'], paths: ['internal/upload/stream.go'],
    criteria: [{ text: 'One pass over the body; memory stays under 1 MB for a 2 GB upload' }], verify: 'go test ./internal/upload -bench Stream',
  }),
  step(4, 'Refuse an upload whose digest is not the one that was announced', {
    type: 'feature', risk: 'medium', depends_on: [3], waiting_on: [3], paths: ['internal/upload/stream.go', 'api/errors.go'], tools: ['str_replace'],
    criteria: [{ text: 'The client is told both digests' }, { text: 'Nothing of the body is kept' }],
  }),
  step(5, 'Backfill the digests of old uploads in batches', {
    type: 'feature', risk: 'high', depends_on: [2, 3], waiting_on: [2, 3], tool: 'jobs/start_job', args: '{\n  "name": "backfill-digests",\n  "batch": 5000,\n  "pause_ms": 200\n}',
    tool_says: 'Starts a job on the batch cluster. The job goes on when the caller leaves.',
    pause: 'Is it outside business hours in all regions?', timeout: 3600, critical: true, tools: ['jobs/start_job'],
  }),
  step(6, 'Show the digest in the admin list and let people copy it', { type: 'feature', risk: 'low', depends_on: [2], waiting_on: [2], paths: ['web/admin/uploads.tsx'], tools: ['str_replace'] }),
  step(7, 'Tell clients about the new header in the API reference', { type: 'chore', risk: 'low', depends_on: [4], waiting_on: [4], paths: ['docs/api/uploads.md'], tools: ['str_replace'] }),
  step(8, 'Test uploads that break off, arrive twice, or lie about their length', {
    type: 'test', risk: 'low', depends_on: [4], waiting_on: [4], creates: ['internal/upload/broken_test.go'], verify: 'go test ./internal/upload -race -count 20', tools: ['create_file', 'bash_execute'],
  }),
  step(9, 'Measure throughput before and after on the staging cluster', { type: 'test', risk: 'medium', depends_on: [3, 4], waiting_on: [3, 4], tools: ['bash_execute'], for_each: '["eu-1", "us-1", "ap-1"]' }),
  step(10, 'Set the column to NOT NULL once the backfill is through', { type: 'feature', risk: 'high', depends_on: [5], waiting_on: [5], when: 'steps.S005.output.left == 0', tools: ['bash_execute'] }),
  step(11, 'Alert when more than 0.1 % of uploads are refused for their digest', { type: 'feature', risk: 'medium', depends_on: [4], waiting_on: [4], paths: ['ops/alerts/uploads.yaml'], tools: ['create_file'] }),
  step(12, 'Remove the old checksum field after two releases', { type: 'chore', risk: 'medium', depends_on: [10, 7], waiting_on: [10, 7], tools: ['str_replace'] }),
]

function waitingFor(at: { id: string; name: string }, items: Partial<Inbox['waiting'][number]>[]): Inbox['waiting'] {
  return items.map(w => ({ workspace: at.id, name: at.name, kind: 'plan', id: '', title: '', at: ago(1), ...w }))
}

function submitted(): View {
  const workspace = { id: 'ws-api', name: 'storefront-api', path: '/home/ada/src/storefront-api' }
  const comments: Comment[] = [
    { id: 'c1', text: 'This must be possible to take back.', by: 'Ada', at: ago(50), step: 2, title: 'Add the column', met: 'changed', reply: { text: 'There is a down migration now; see criterion 1.', by: 'claude-code', at: ago(5) } },
    { id: 'c2', text: 'Name the alert after the service, as the others are.', by: 'Ada', at: ago(50), step: 11, met: 'open' },
    { id: 'c3', text: 'Why SHA-256 and not BLAKE3?', by: 'Ada', at: ago(48), step: 3, question: true, met: 'met', reply: { text: 'The clients have SHA-256 in hardware; BLAKE3 would need a new dependency.', by: 'claude-code', at: ago(40) } },
    { id: 'c4', text: 'Do not rewrite the storage layer for this.', by: 'Ada', at: ago(50), title: 'Rewrite the storage layer', met: 'gone' },
  ]
  return {
    workspace, log: 'log', revision: 118, updated_at: ago(4), now: new Date().toISOString(), phase: 'submitted', headline: 'A plan of 12 steps waits for your decision.',
    can: { decide: true, code: true }, run: undefined,
    waiting: waitingFor(workspace, [
      { kind: 'question', id: 'q1', title: 'May the backfill pause writes to uploads for up to 2 s per batch?', by: 'claude-code', at: ago(3) },
      { kind: 'plan', id: 'r7', title: 'Store a digest with every upload and refuse what does not match', by: 'claude-code', at: ago(4) }]),
    situation: [],
    questions: [{ id: 'q1', text: 'May the backfill pause writes to uploads for up to 2 s per batch?', by: 'claude-code', at: ago(3) }],
    plan: plan('p1', 'Store a digest with every upload', upload.slice(0, 9), { approval: { by: 'Ada, on a terminal', way: 'person' } }),
    draft: {
      situation: [
        { label: 'Warning', texts: ['track docs has steps for the same files: internal/upload/store.go. For separate files: git worktree add ../docs -b docs'], urgent: true },
        { label: 'Constraints', texts: ['No downtime', 'No change to the public URL of an upload'] },
        { label: 'Findings', texts: ['The import job calls Put without a context.'], folded: true },
        { label: 'Reasoning', texts: ['Computing the digest afterwards would read every body twice.'], folded: true },
        { label: 'Answers', texts: ['Ada answered "Is the import job still in use?": Yes, nightly.'] },
      ],
      plan: plan('p1-v2', 'Store a digest with every upload and refuse what does not match', upload, {
        status: 'draft', version: 2, summary: 'Uploads get a SHA-256 that is computed while they stream, announced by the client and checked before anything is kept. Old rows are filled in by a job.',
        changes: 'The backfill is a job of its own now, and the migration can be taken back.',
        difference: {
          from: { id: 'p1', version: 1, at: ago(60) },
          plan: [{ field: 'objective', label: 'objective', was: ['Store a digest with every upload'], now: ['Store a digest with every upload and refuse what does not match'] }],
          steps: [
            { id: 'S002', title: upload[1]!.title, change: 'changed', fields: [{ field: 'risk', label: 'risk', was: ['medium'], now: ['high'] },
              { field: 'details', label: 'details', was: ['Add the column as NOT NULL with a default.'], now: [upload[1]!.details!] }] },
            ...[10, 11, 12].map(n => ({ id: `S0${n}`, title: upload[n - 1]!.title, change: 'added' as const, fields: [] })),
            { id: 'S007', was: 'S008', title: upload[6]!.title, change: 'moved', fields: [] },
            { id: 'S009', title: 'Rewrite the storage layer', change: 'removed', fields: [] },
          ],
        },
      }),
      request: 'r7', by: 'claude-code', at: ago(4), expires: ago(-26), decidable: true, changes: true,
    },
    comments, signals: [{ id: 'ci-main', level: 'warning', message: 'main is red: TestMigration is flaky', by: 'ci', at: ago(90) }],
    agents: [{ agent: 'claude-code', host: 'Claude Code', state: 'enforced', since: ago(60) }, { agent: 'codex', host: 'Codex', state: 'not_enforced', why: 'its host’s hooks have not responded' }],
    plans: [{ id: 'p0', version: 1, objective: 'Clean up the upload package', steps: 6, done: 6, became: 'completed', created_at: ago(9000), archived_at: ago(8000) }],
  }
}

function running(): View {
  const stati = ['done', 'done', 'done', 'in_progress', 'failed', 'pending', 'blocked', 'pending', 'skipped', 'pending'] as const
  const titles = ['Snapshot the old store', 'Create the new volumes', 'Copy the snapshot', 'Replay what came since', 'Point the readers at it',
    'Point the writers at it', 'Compare a day of both', 'Stop the old store', 'Warm the caches', 'Remove the old volumes']
  const workspace = { id: 'ws-infra', name: 'infra', path: '/home/ada/src/infra' }
  const steps = stati.map((status, i): Step => step(i + 1, titles[i]!, {
    status, depends_on: i ? [i] : [], tool: 'bash_execute', tools: ['bash_execute'], args: `{\n  "command": "make step-${i + 1}"\n}`,
    risk: i > 4 ? 'high' : 'low', ...(status === 'pending' && i > 5 ? { waiting_on: [i] } : {}), ...(i < 5 ? { started_at: ago(30 - i * 5), attempts: 1 } : {}),
    ...(i < 3 ? { completed_at: ago(27 - i * 5), output: 'ok\n412 files copied', evidence: [{ command: 'make check', exit_code: 0, recorded: true, by: 'planloop', at: ago(27 - i * 5) }] } : {}),
    ...(status === 'failed' ? { error: 'connection refused: metrics-2:9090' } : {}), ...(i === 3 ? { notes: ['Half way: 3 of 6 shards'] } : {}),
    ...(i === 5 ? { ask: { kind: 'approval', text: 'make step-6 writes to production. Run it?', digest: 'd6d6d6', short: 'd6d6', args: '{\n  "command": "make step-6"\n}', choices: ['approve', 'deny', 'skip'], at: ago(6) } } as Partial<Step> : {}),
  }))
  return {
    workspace, log: 'log', revision: 40, updated_at: ago(1), now: new Date().toISOString(), phase: 'inactive', headline: 'Step 4 is running.', can: { decide: true },
    waiting: waitingFor(workspace, [
      { kind: 'blocker', id: 'disk', title: 'metrics-2 has 4 % of its disk left', by: 'ci', at: ago(2) },
      { kind: 'step', id: 'S006', step: 6, title: 'Point the writers at it', by: 'planloop', at: ago(6) }]),
    plan: plan('p2', 'Move the metrics store to the new cluster', steps, { approval: { by: 'Ada, on the page', way: 'person' } }),
    run: { id: 'run-1', state: 'running', by: 'Ada', since: ago(31), steps: [{ step: 4, percent: 50, what: 'shard 3 of 6', tail: 'replaying shard 3\n  18,211 of 40,002' }], asks: [], can_here: true },
    situation: [{ label: 'Failed or blocked', texts: ['S005 Point the readers at it, failed: connection refused: metrics-2:9090', 'S007 Compare a day of both, blocked'], urgent: true }],
    questions: [], comments: [], plans: [],
    signals: [{ id: 'disk', level: 'blocker', message: 'metrics-2 has 4 % of its disk left', step: 5, by: 'ci', at: ago(2) }],
    agents: [],
  }
}

function large(): View {
  const verbs = ['Describe', 'Test', 'Rename', 'Split', 'Measure', 'Document', 'Retire', 'Port']
  return {
    workspace: { id: 'ws-large', name: 'monorepo', path: '/home/ada/src/monorepo' }, log: 'log', revision: 900, updated_at: ago(300), now: new Date().toISOString(),
    phase: 'inactive', headline: '120 of 500 steps are done.', situation: [], can: { decide: false, why: 'this page was started without a terminal: it shows and does not decide' },
    waiting: [], questions: [], comments: [], signals: [], agents: [], plans: [],
    plan: plan('p3', 'Port five hundred packages to the new build', Array.from({ length: 500 }, (_, i) => step(i + 1, `${verbs[i % 8]} package ${i + 1} and everything that imports it`, {
      status: i < 120 ? 'done' : i < 123 ? 'in_progress' : 'pending', risk: (['low', 'medium', 'high'] as const)[i % 3]!, depends_on: i > 4 ? [i - 4] : [], paths: [`pkg/p${i + 1}`],
    }))),
  }
}

function empty(): View {
  return {
    workspace: { id: 'ws-empty', name: 'notes', path: '/home/ada/notes' }, log: 'log', revision: 0, now: new Date().toISOString(), phase: 'inactive',
    headline: 'The workspace has no plan.', situation: [], can: { decide: true }, waiting: [], questions: [], comments: [], signals: [], agents: [], plans: [],
  }
}

// decided applies a decision to the view.
function decided(v: View, act: string, comment: string): void {
  if (act === 'approve') v.plan = { ...v.draft!.plan, status: 'active' }
  v.decision = { outcome: act, by: 'you', way: 'person', comment, at: new Date().toISOString() }
  v.draft = undefined
  v.phase = act === 'approve' ? 'executing' : 'gathering'
  v.headline = act === 'approve' ? 'The plan is approved; the agent goes on.' : 'The agent revises the plan.'
  v.waiting = v.waiting.filter(w => w.kind !== 'plan')
}

function changedSteps(p: Plan, act: string, input: Record<string, unknown>): void {
  const chosen = p.steps.find(s => s.number === input.step)
  if (act === 'edit_step' && chosen) Object.assign(chosen, input.fields)
  if ((act === 'skip_step' || act === 'remove_step') && chosen) chosen.status = 'skipped'
  if (act === 'move_step' && chosen) {
    const rest = p.steps.filter(s => s !== chosen)
    rest.splice(rest.findIndex(s => s.number === input.after) + 1, 0, chosen)
    p.steps = rest
  }
  if (act === 'add_step') p.steps.push(step(p.steps.length + 1, '', input.fields as Partial<Step>))
}

export function fixtureSource(): Source {
  const all: Record<string, View> = { 'ws-api': submitted(), 'ws-infra': running(), 'ws-large': large(), 'ws-empty': empty() }
  let listener: (c: Change) => void = () => {}
  let unlocked = false
  Object.assign(globalThis, { // for trying changes from the console
    fixture: all, changed: (id: string) => { all[id]!.revision++; listener({ workspace: id, revision: all[id]!.revision }) },
  })
  return {
    kind: 'page',
    inbox: async (): Promise<Inbox> => ({
      workspaces: Object.values(all).map(v => ({ ...v.workspace, waiting: v.waiting.length, phase: v.phase, headline: v.headline, updated_at: v.updated_at! })),
      waiting: Object.values(all).flatMap(v => v.waiting).sort((a, b) => b.at.localeCompare(a.at)),
    }),
    view: async id => structuredClone({ ...all[id]!, now: new Date().toISOString() }),
    log: async (): Promise<Log> => ({
      lines: Array.from({ length: 30 }, (_, i) => ({ revision: 118 - i, at: ago(4 + i * 3), who: i % 3 ? 'claude-code' : 'Ada', kind: i % 3 ? 'agent' : 'person', text: i % 3 ? `marked step ${i + 1} as done` : 'commented on step 2' })),
    }),
    tail: async () => 'replaying shard 3\n  18,211 of 40,002\n',
    act: async (id, _log, act, input) => {
      const v = all[id]!, p = v.draft?.plan ?? v.plan
      await new Promise(done => setTimeout(done, 150))
      if (String(input.comment).includes('conflict')) throw new Fault(409, 'conflict', 'Grace approved this plan 12 s ago, on a terminal.', 'Look at what it says now.')
      if (v.can.code && !unlocked) throw new Fault(403, 'locked', 'the code from the terminal is required', 'type it first')
      if (['approve', 'reject', 'return', 'regenerate'].includes(act)) decided(v, act, String(input.comment ?? ''))
      if (act === 'answer') {
        v.questions = v.questions.filter(q => q.id !== input.id)
        v.waiting = v.waiting.filter(w => w.id !== input.id)
      }
      if (act === 'comment' || act === 'ask') v.comments = [...v.comments, { id: 'c' + v.revision, text: String(input.text), by: 'you', at: new Date().toISOString(), step: Number(input.step ?? 0), question: act === 'ask', met: 'open' }] as Comment[]
      if (act === 'meet') v.comments = v.comments.map(c => c.id === input.id ? { ...c, met: input.met ? 'met' : 'open' } : c)
      if (p) changedSteps(p, act, input)
      v.revision++
      listener({ workspace: id, revision: v.revision })
      return { message: 'Done: ' + act, revision: v.revision }
    },
    requestCode: async () => {},
    unlock: async code => {
      if (code !== '123456') throw new Fault(422, 'invalid', 'That is not the code.', 'Two tries are left.')
      unlocked = true
    },
    unlocked: () => unlocked,
    forgetUnlock: () => { unlocked = false },
    onChange: (l, state) => {
      listener = l
      state?.('live')
      return () => {}
    },
  }
}
