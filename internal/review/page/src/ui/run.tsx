// A run of the plan, live, with its steps' questions to a person.

import { batch, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { typed } from '../unsent'
import { asFault } from '../source'
import { act, busy, clock, current, look, mayDecide, pane, perform, selected, source, view, workspace } from '../store'
import type { Choice, Run, Step } from '../types'
import { listed, standing } from '../status'
import { edit } from './edit'
import { StatusMark } from './icons'
import { Markdown } from './markdown'
import { Prose } from './prose'
import { ago, count, hostName, sentence, span } from './format'
import { doing } from './live'
import { Timeline } from './timeline'
import { focus } from './focus'

export function RunPanel() {
  useProgress()
  const v = view.value, run = v?.run, steps = v?.plan?.steps ?? []
  if (!run) return <p class="empty">planloop is not running this plan.</p>
  const by = new Map(steps.map(s => [s.number, s]))
  const asking = steps.filter(s => s.ask && !s.ask.early), failed = steps.filter(s => s.status === 'failed' && !s.ask)
  const gone = new Set(steps.filter(s => s.status === 'skipped' || s.status === 'cancelled').map(s => s.number))
  const waits = run.reason === 'deadlocked' && run.state === 'paused' ? steps.filter(s => s.waiting_on?.some(n => gone.has(n))) : []
  const stale = steps.filter(s => s.stale && !s.ask), boxes = new Set([...asking, ...failed, ...waits, ...stale].map(s => s.number))
  const atWork = [...run.steps, ...steps.filter(s => s.status === 'in_progress' && !s.ask && !run.steps.some(r => r.step === s.number)).map(s => ({ step: s.number }))]
  const ended = steps.filter(s => s.status !== 'failed' && s.completed_at && (s.tool && s.started_at || s.pause)).sort((a, b) => Date.parse(b.completed_at!) - Date.parse(a.completed_at!))
  const lacking = ended.slice(latest).filter(s => s.unverified).length
  return (
    <section class="run" aria-label="Run">
      <RunHead run={run} failed={failed.length > 0} stuck={failed.length > 0 || run.reason === 'deadlocked'} />
      <WaitingFor asks={run.asks} steps={steps} boxes={boxes} />
      {asking.length > 0 && <h2>{count(asking.length, 'step is', 'steps are')} waiting for you</h2>}
      {asking.map(s => <Asking key={s.id} step={s}><StepAsk step={s} /></Asking>)}
      {failed.length > 0 && <h2 class="wrong">{count(failed.length, 'step')} failed</h2>}
      {failed.map(s => <Asking key={s.id} step={s}><Failure step={s} waiting={steps.filter(w => w.waiting_on?.includes(s.number)).map(w => w.number)} /><StepChoices step={s} choices={['retry', 'skip']} first /></Asking>)}
      {waits.length > 0 && <h2>{count(waits.length, 'step waits', 'steps wait')} for skipped or cancelled steps</h2>}
      {waits.map(s => <Asking key={s.id} step={s}><p>It waits for {listed(s.waiting_on!.filter(n => gone.has(n)))}: edit the step to remove this dependency, or skip it.</p><StepChoices step={s} choices={['skip']}><button disabled={!!busy.value} onClick={() => { showStep(s.number); edit(s.number) }}>Edit the step</button></StepChoices></Asking>)}
      {stale.length > 0 && <h2>{count(stale.length, 'step')} used a value that was replaced</h2>}
      {stale.map(s => <Asking key={s.id} step={s}><StepChoices step={s} choices={[]}><button disabled={!!busy.value} title="With the finished steps that depend on it" onClick={() => act('retry_step', { step: s.id, with_dependents: true })}>Do it again</button><button disabled={!!busy.value} title="Its result stays as it is" onClick={() => act('keep_step', { step: s.id })}>Keep its result</button></StepChoices></Asking>)}
      {atWork.length > 0 && <h2>{count(atWork.length, 'step')} {run.state === 'interrupted' ? 'interrupted' : 'running'}</h2>}
      {atWork.map(r => <RunningStep key={r.step} running={r} step={by.get(r.step)} broken={run.state === 'interrupted'} />)}
      <Timeline />
      {ended.length > 0 && <h2>Finished</h2>}
      <ol class="ended" role="list">{ended.slice(0, latest).map(s => <Ended key={s.id} step={s} />)}</ol>
      {ended.length > latest && (
        <details class="earlier">
          <summary>{count(ended.length - latest, 'step')} finished before{lacking > 0 && `, ${lacking} not verified`}</summary>
          <ol class="ended" role="list">{ended.slice(latest, 50).map(s => <Ended key={s.id} step={s} />)}</ol>
        </details>
      )}
    </section>
  )
}

const latest = 5 // finished steps that are not folded

// Failure shows why a step failed, the last lines of its output, and the way on.
function Failure({ step: s, waiting }: { step: Step; waiting: number[] }) {
  return (
    <>
      {s.error && <pre class="wrong" tabIndex={0} aria-label="Error">{s.error}</pre>}
      {(s.tool || s.agent) && saysMore(s) && <Tail step={s.number} given={s.output} />}
      <p class="small soft">
        {waiting.length > 0 && `${sentence(`${waiting.length > 1 ? 'steps' : 'step'} ${listed(waiting)} ${waiting.length > 1 ? 'wait' : 'waits'} for it`)} `}
        Remove the cause and try again, or skip the step if the plan works without it.
      </p>
    </>
  )
}

// saysMore reports whether a step's output has a line that its error does not repeat.
function saysMore({ output = '', error = '' }: Step): boolean {
  return output.split('\n').some(line => !/^std(out|err):$/.test(line) && !error.includes(line.trim()))
}

// WaitingFor lists everything that the run waits for. A single step with a box below needs no entry, and no step with a box repeats its text.
function WaitingFor({ asks: all, steps, boxes }: { asks: Run['asks']; steps: readonly Step[]; boxes: ReadonlySet<number> }) {
  const entries = all.map(ask => ({ ...ask, number: steps.find(s => s.id === ask.step)?.number }))
  const boxed = (number: number | undefined) => number !== undefined && boxes.has(number)
  if (!entries.length || (entries.length === 1 && boxed(entries[0]!.number))) return null
  return (
    <section class="waiting-for" aria-label="Waiting for">
      <h2>Waiting for</h2>
      <ul role="list">
        {entries.map(({ number, what, why, how }, i) => (
          <li key={i}>
            {number === undefined ? <b>{sentence(what)}</b> : <button class="link" onClick={() => { boxed(number) ? focus('asks-' + number) : openStep(number) }}>{sentence(what)}</button>}
            {why && !boxed(number) && <div class="soft"><Markdown of={why} /></div>}
            {how && <p class="small soft">{how}</p>}
          </li>
        ))}
      </ul>
    </section>
  )
}

// useProgress reads regularly while steps are running: progress is not a change of the plan, so no event reports it.
function useProgress(): void {
  const on = view.value?.run?.state === 'running'
  useEffect(() => {
    if (!on) return undefined
    const timer = setInterval(() => { if (!document.hidden) look() }, 2000)
    return () => clearInterval(timer)
  }, [on])
}

// openStep goes to a step of the executed plan.
export function openStep(number: number): void {
  showStep(number)
  focus('step-' + number)
}

function showStep(number: number): void {
  batch(() => {
    if (view.value?.draft) current.value = true
    pane.value = 'plan'
    selected.value = number
  })
}

// holds returns the obstacle to continuing a run, for any user.
function holds(): string {
  const v = view.value
  if (v?.phase === 'submitted' || v?.phase === 'gathering') return v.draft?.decidable ? 'It can continue after you decide on the waiting plan.' : 'It can continue when planning mode ends.'
  return v?.plan?.status === 'replanning' ? 'A critical step failed: retry or skip it, or let an agent revise the plan.' : ''
}

function RunHead({ run, stuck, failed }: { run: Run; stuck: boolean; failed: boolean }) {
  const replanning = useSignal(false), off = !!busy.value
  const on = run.state === 'running', may = mayDecide.value
  const held = holds(), complete = view.value?.plan?.status === 'completed', startable = run.can_here && !on && !held && !complete
  return (
    <header class={`run-head is-${failed && run.state === 'paused' ? 'failed' : complete ? 'complete' : run.state}`}>
      <p class="what">
        <b>{sentence(standing(run, view.value?.plan?.steps ?? []))}</b>
        {run.note && <span class="soft">{sentence(run.note)}</span>}
        {run.since && <span class="soft small">Started by {hostName(run.by)} {ago(run.since, clock.value)}{run.ended && `, ended ${ago(run.ended, clock.value)}`}.</span>}
        {!on && held && <span class="soft small">{held}</span>}
      </p>
      {may && (
        <div class="buttons">
          {startable && <button class={stuck ? '' : 'primary'} disabled={off} onClick={() => act('start_run', {})}>{run.state === 'none' || run.state === 'over' ? 'Start a run here' : 'Resume here'}</button>}
          {on && <button disabled={off} title="No new step starts; running steps finish" onClick={() => act('pause_run', {})}>Pause</button>}
          {run.state !== 'none' && run.state !== 'over' && <button disabled={off} onClick={() => act('end_run', {})}>End the run</button>}
          {run.state !== 'none' && <button disabled={off} aria-expanded={replanning.value} onClick={() => { replanning.value = !replanning.value }}>Ask for replanning…</button>}
        </div>
      )}
      {may && !run.can_here && !on && run.state !== 'over' && <p class="soft small">It cannot run from here. In a terminal, use <code>planloop run</code>.</p>}
      {replanning.value && <TextAction name="replan" label="Changes you want in the plan" button="Pause and ask for replanning" act="ask_replan" input={{}} done={() => { replanning.value = false }} />}
    </header>
  )
}

// TextAction is an act that needs a text.
function TextAction({ name, label, button, act: what, input, field = 'text', may, done }: {
  name: string; label: string; button: string; act: string; input: Record<string, unknown>; field?: string; may?: boolean; done?: () => void
}) {
  const text = typed(name), at = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => { if (done) at.current?.focus() }, []) // the user has just asked for it
  const send = async (e?: Event) => {
    e?.preventDefault()
    if (!may && !text.value.trim()) return
    if (!await perform(what, { ...input, [field]: text.value.trim() })) return
    text.value = ''
    done?.()
  }
  return (
    <form class="answer" onSubmit={send}>
      <textarea ref={at} rows={2} aria-label={label} placeholder={label} value={text.value} onInput={e => { text.value = e.currentTarget.value }}
        onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void send(e) }} />
      <button disabled={!!busy.value || (!may && !text.value.trim())}>{button}</button>
    </form>
  )
}

function Asking({ step: s, children }: { step: Step; children: ComponentChildren }) {
  return <article class="asking" id={`asks-${s.number}`} tabIndex={-1} aria-label={`Step ${s.number}`}><StepTitle step={s} />{children}</article>
}

function StepTitle({ step: s }: { step: Step }) {
  return (
    <h3>
      <button class="link number" aria-label={`Step ${s.number}`} onClick={() => openStep(s.number)}>{s.number}</button>
      <span class="title"><Prose of={s.title} /></span>
      {s.tool && <span class="soft mono">{s.tool}</span>}
      {(s.attempts ?? 0) > 1 && <span class="soft">attempt {s.attempts}</span>}
    </h3>
  )
}

function RunningStep({ running: r, step: s, broken }: { running: Run['steps'][number]; step: Step | undefined; broken: boolean }) {
  const title = s ?? { number: r.step, title: '' } as Step
  return (
    <article class="at-work" aria-label={`Step ${r.step}`}>
      <StepTitle step={title} />
      <p class="progress">
        {r.percent !== undefined && r.percent > 0 && <progress max={100} value={r.percent} aria-label={`Step ${r.step}: ${r.percent} percent`} />}
        <span class="soft">{doing(s, r, clock.value, broken)}</span>
        <StopStep step={r.step} />
      </p>
      {(s?.tool || s?.agent) && <Tail step={r.step} live={!broken} given={r.tail} />}
    </article>
  )
}

// StopStep stops a step that an engine carries out.
export function StopStep({ step }: { step: number }) {
  const run = view.value?.run, at = run && run.state !== 'interrupted' && run.steps.find(r => r.step === step)
  if (!at || !mayDecide.value) return null
  return <button class="small" disabled={at.stopping || !!busy.value} aria-label={`${at.stopping ? 'Stopping' : 'Stop'} step ${step}`} title="Ends its processes" onClick={() => act('stop_step', { step })}>{at.stopping ? 'Stopping…' : 'Stop'}</button>
}

function Ended({ step: s }: { step: Step }) {
  const open = useSignal(false)
  return (
    <li>
      <details onToggle={e => { open.value = e.currentTarget.open }}>
        <summary>
          <StatusMark status={s.status} /><span class="unseen">{s.status} </span><span class="number">{s.number}</span><span class="title"><Prose of={s.title} /></span>
          <span class="soft small">{checked(s)}{s.pause ? 'answered' : span((Date.parse(s.completed_at!) - Date.parse(s.started_at!)) / 1000)}, {ago(s.completed_at, clock.value)}</span>
        </summary>
        {s.pause && !s.tool ? <div><Markdown of={s.pause} /><p class="text"><b>{s.output}</b></p></div> : open.value && <Tail step={s.number} given={s.error ?? s.output} />}
      </details>
    </li>
  )
}

const checked = (s: Step) => s.status !== 'done' ? '' : s.unverified ? 'not verified, ' : s.verified ? 'verified, ' : ''

// Tail is the end of a step's output. It is read regularly while the step runs, and follows the end unless the user scrolls up; back at the
// end it follows again.
export function Tail({ step, live, given }: { step: number; live?: boolean; given?: string | undefined }) {
  const text = useSignal(given ?? ''), failed = useSignal(''), follows = useSignal(true)
  const at = useRef<HTMLPreElement>(null), own = useRef(false)
  useEffect(() => {
    let ended = false, timer = 0
    const read = async () => {
      try {
        const got = await source.value?.tail(workspace.value, step)
        if (ended) return
        if (got) text.value = got
        failed.value = ''
      } catch (e) {
        if (!text.value) failed.value = asFault(e).problem
      }
      if (!ended && live) timer = window.setTimeout(read, document.hidden ? 5000 : 1000)
    }
    void read()
    return () => { ended = true; clearTimeout(timer) }
  }, [step, live, workspace.value])
  useLayoutEffect(() => {
    if (!at.current || !follows.value || !live) return
    own.current = true
    at.current.scrollTop = at.current.scrollHeight
  }, [text.value, follows.value])
  const scrolled = () => {
    const pre = at.current
    if (!pre || own.current) { own.current = false; return }
    follows.value = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 8
  }
  if (failed.value) return <p class="soft small">{sentence(failed.value)}</p>
  if (!text.value.trim()) return <p class="soft small">{live ? 'No output yet.' : 'No output.'}</p>
  return (
    <div class="tail">
      <pre ref={at} tabIndex={0} onScroll={scrolled} aria-label={`Output of step ${step}`}>{text.value}</pre>
      {live && !follows.value && <button class="small to-end" onClick={() => { follows.value = true }}>To the end</button>}
    </div>
  )
}

// StepAsk shows a step's request to a person: an approval with its arguments, an answer, or whether it happened.
export function StepAsk({ step: s }: { step: Step }) {
  const ask = s.ask
  if (!ask) return null
  const has = (choice: Choice) => ask.choices.includes(choice)
  const rest = ask.choices.filter(c => c === 'retry' || c === 'happened' || c === 'skip' || c === 'abort')
  return (
    <section class={`ask is-${ask.kind}`} aria-label={`Request of step ${s.number}`}>
      {ask.early && <p><b>It will ask before it runs.</b></p>}
      {ask.kind === 'unknown' ? <p class="text">{sentence(ask.text || asks.unknown!)} Check whether it was done.</p> : <Markdown of={ask.text || asks[ask.kind] || ''} />}
      {ask.kind === 'unknown' && s.error && s.error !== ask.text && <pre class="wrong" tabIndex={0} aria-label="Error">{s.error}</pre>}
      {ask.kind === 'unknown' && <Tail step={s.number} given={s.output} />}
      {!mayDecide.value && ask.args && <pre tabIndex={0} aria-label="Arguments">{ask.args}</pre>}
      {mayDecide.value && <>
        {has('reply') && <TextAction name={`reply-${s.number}`} label={`Answer to step ${s.number}`} button="Answer" act="answer_step" input={{ step: s.number, ...digestOf(s) }} />}
        {has('approve') ? <Approving step={s} rest={rest} /> : <StepChoices step={s} choices={rest} />}
      </>}
    </section>
  )
}

const asks: Record<string, string> = {
  approval: 'May it run with these arguments?', pause: 'It is waiting for your answer.', blocked: 'It is blocked.',
  unknown: 'It was started and then interrupted.',
}

const digestOf = (s: Step) => s.ask?.digest ? { digest: s.ask.digest } : {}

// Approving shows the arguments and lets the user change them; the approval applies to the arguments as shown.
function Approving({ step: s, rest }: { step: Step; rest: Choice[] }) {
  const args = s.ask?.args ?? ''
  const text = typed(`args-${s.number}-${s.ask?.short ?? ''}`), editing = useSignal(!!text.value)
  const now = text.value || args, wrong = editing.value ? faultIn(now) : ''
  const field = useRef<HTMLTextAreaElement>(null), opened = useRef(editing.value)
  useLayoutEffect(() => { if (editing.value && !opened.current) field.current?.focus(); opened.current = editing.value }, [editing.value])
  const edited = editing.value && !wrong && !same(now, args)
  const approve = async () => {
    if (wrong) return
    if (await act('approve_step', { step: s.number, ...digestOf(s), ...(edited && { args: JSON.parse(now) as unknown }) })) { text.value = ''; editing.value = false }
  }
  return (
    <div class="approving">
      {editing.value
        ? <>
            <textarea class="mono" rows={Math.min(16, now.split('\n').length + 1)} spellcheck={false} ref={field} aria-label={`Arguments of step ${s.number}, as JSON`} aria-invalid={!!wrong}
              aria-describedby={`wrong-${s.number}`} value={now} onInput={e => { text.value = e.currentTarget.value }} />
            <p id={`wrong-${s.number}`} class="wrong small" aria-live="polite">{wrong}</p>
          </>
        : args && <pre tabIndex={0} aria-label="Arguments">{args}</pre>}
      <StepChoices step={s} choices={rest}>
        <button class="primary" disabled={!!wrong || !!busy.value} onClick={approve}>{edited ? 'Approve with these arguments' : 'Approve the step'}</button>
        <button disabled={!!busy.value} onClick={() => act('deny_step', { step: s.number, ...digestOf(s) })}>Deny</button>
        {args && (editing.value
          ? <button class="quiet" onClick={() => { text.value = ''; editing.value = false }}>Keep the original arguments</button>
          : <button class="quiet" onClick={() => { editing.value = true }}>Edit the arguments</button>)}
      </StepChoices>
    </div>
  )
}

// faultIn returns why a text is not valid as arguments, with the position if the browser reports it.
export function faultIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value && !Array.isArray(value) ? '' : 'Arguments must be one JSON object: { "name": value }.'
  } catch (e) {
    const said = (e as Error).message
    const at = Number(/position (\d+)/.exec(said)?.[1] ?? NaN)
    const line = Number.isNaN(at) ? '' : ` in line ${text.slice(0, at).split('\n').length}`
    return `Not valid JSON${line}: ${said.replace(/^JSON\.parse: /, '').replace(/ (in JSON |after JSON )?at position .*$/s, '').replace(/, ".*" is not valid JSON$/s, '')}.`
  }
}

function same(a: string, b: string): boolean {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b))
  } catch {
    return false
  }
}

// RetryWith restarts a failed step with arguments that a person has written.
function RetryWith({ step: s, done }: { step: Step; done: () => void }) {
  const text = typed(`retry-${s.number}`), now = text.value || (s.args ?? ''), wrong = faultIn(now)
  const send = async (e: Event) => {
    e.preventDefault()
    if (wrong || same(now, s.args ?? '') || !await act('retry_step', { step: s.number, ...digestOf(s), args: JSON.parse(now) as unknown })) return
    text.value = ''
    done()
  }
  return (
    <form class="approving" onSubmit={send}>
      <textarea class="mono" rows={Math.min(16, now.split('\n').length + 1)} spellcheck={false} aria-label={`Arguments of step ${s.number}, as JSON`} aria-invalid={!!wrong}
        value={now} onInput={e => { text.value = e.currentTarget.value }} />
      <p class="wrong small" aria-live="polite">{wrong}</p>
      <div class="buttons"><button class="primary" disabled={!!wrong || same(now, s.args ?? '') || !!busy.value}>Try again with these arguments</button></div>
    </form>
  )
}

const ways = { retry: 'Try again', args: 'Try again with other arguments…', happened: 'It happened', skip: 'Skip…', abort: 'End the run' }

// StepChoices are the answers for a failed step, or for one with an unknown outcome.
function StepChoices({ step: s, choices, first, children }: { step: Step; choices: Choice[]; first?: boolean; children?: ComponentChildren }) {
  const wanted = useSignal<'' | 'skip' | 'happened' | 'args'>('')
  if (!mayDecide.value || (!choices.length && !children)) return null
  const take = (choice: keyof typeof ways) => {
    if (choice === 'skip' || choice === 'happened' || choice === 'args') wanted.value = wanted.value === choice ? '' : choice
    else void (choice === 'abort' ? act('end_run', {}) : act('retry_step', { step: s.number, ...digestOf(s) }))
  }
  return (
    <>
      <div class="buttons">
        {children}
        {(Object.keys(ways) as (keyof typeof ways)[]).filter(c => c === 'args' ? !!s.args && choices.includes('retry') : choices.includes(c)).map(c => (
          <button key={c} class={first && c === 'retry' ? 'primary' : ''} disabled={!!busy.value} aria-expanded={c === 'skip' || c === 'happened' || c === 'args' ? wanted.value === c : undefined} onClick={() => take(c)}>{ways[c]}</button>
        ))}
      </div>
      {wanted.value === 'args' && <RetryWith step={s} done={() => { wanted.value = '' }} />}
      {wanted.value === 'skip' && <TextAction name={`skip-${s.number}`} label="Reason for skipping" button="Skip the step" act="skip_step" input={{ step: s.number }} field="reason" done={() => { wanted.value = '' }} />}
      {wanted.value === 'happened' && <TextAction name={`happened-${s.number}`} label="Its result, if it returned one" button="It happened" act="happened_step" may input={{ step: s.number, ...digestOf(s) }} done={() => { wanted.value = '' }} />}
    </>
  )
}
