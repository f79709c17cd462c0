// One step with its fields, its requests and its outcome.

import type { ComponentChildren, Ref } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { typed } from '../unsent'
import { act, aim, busy, clock, current, editing, mayDecide, selected, shown, showsDraft, skipping, swapped, view } from '../store'
import { listed, wordOf } from '../status'
import type { Evidence, GateWarning, Step } from '../types'
import { NewComment, CommentList } from './comments'
import { EditStep } from './edit'
import { Sign, StatusMark } from './icons'
import { Markdown } from './markdown'
import { Prose } from './prose'
import { MoveButtons } from './reorder'
import { StepAsk, StopStep } from './run'
import { ago, count, hostName, moment, sentence, span } from './format'
import { focus } from './focus'

// Whole is a step in the list with all its fields.
export function Whole({ step: s }: { step: Step }) {
  return (
    <div class="printed">
      {s.unseen && <p class="notice is-waiting">{sentence(s.unseen)}</p>}
      <Warnings of={s.warnings} />
      {(s.type || s.critical) && <p class="soft small">{[s.type, s.critical && 'critical: the plan must be revised if it fails'].filter(Boolean).join(', ')}</p>}
      <Facts step={s} />
      <CommentList step={s.number} />
    </div>
  )
}

export function StepPanel({ step: s }: { step: Step }) {
  const title = `${s.number}. ${s.title}`
  return (
    <article class="step" data-step={s.number} aria-label={`Step ${s.number}`}>
      <header>
        <h2><span class="number">{s.number}</span><Prose of={s.title} /></h2>
        <button class="quiet icon" aria-label="Close the step" title="Close (Escape)" onClick={() => { close(s.number) }}><Sign of="close" /></button>
      </header>
      <p class="standing">
        <StatusMark status={s.status} /><span>{wordOf(s)}</span>
        {s.risk && <span class={`risk risk-${s.risk}`}>{s.risk} risk</span>}
        {s.type && <span class="soft">{s.type}</span>}
        {s.critical && <span class="soft">critical</span>}
        {s.claimed_by && <span class="soft">{hostName(s.claimed_by)}</span>}
        <span class="soft mono">{s.id}</span>
        {shown.value === view.value?.plan && <StopStep step={s.number} />}
      </p>
      {s.ask && <StepAsk step={s} />}
      {s.unseen && <p class="notice is-waiting">{sentence(s.unseen)}</p>}
      <Warnings of={s.warnings} />
      {editing.value && mayDecide.value ? <EditStep step={s} /> : <><Changing step={s} /><Facts step={s} /></>}
      <section class="talk" aria-label={`Comments on step ${s.number}`}>
        <CommentList step={s.number} />
        <NewComment step={s.number} title={title} />
      </section>
    </article>
  )
}

// Warnings are the checks' warnings at submission.
function Warnings({ of }: { of: GateWarning[] | undefined }) {
  return <>{of?.map(({ text }, i) => <p key={i} class="notice is-waiting"><span class="unseen">Warning: </span><Prose of={text} /></p>)}</>
}

// close ends the work on a step, and also closes the step unless stay is set.
export function close(number: number, stay = false): void {
  if (!stay) selected.value = 0
  editing.value = false
  skipping.value = 0
  focus('step-' + number)
}

// mayChange: a draft can be changed while it waits, a plan while it is active; a finished one cannot.
export function mayChange(s: Step): boolean {
  if (!mayDecide.value || (current.value && !!view.value?.draft)) return false
  if (showsDraft.value) return !swapped.value
  const status = shown.value?.status
  return status === 'active' && s.status !== 'done' && s.status !== 'in_progress'
}

// removes: skipping removes a step from a plan that is not approved yet.
export const removes = () => showsDraft.value

function Changing({ step: s }: { step: Step }) {
  if (!mayChange(s)) return null
  const over = s.status === 'skipped' || s.status === 'cancelled', asking = skipping.value === s.number
  return (
    <div class="changing">
      <div class="buttons">
        <button class="small" onClick={() => { editing.value = true }}>Edit</button>
        {!over && !s.ask?.choices.includes('skip') && <button class="small" aria-expanded={asking} onClick={() => { skipping.value = asking ? 0 : s.number }}>{removes() ? 'Remove…' : 'Skip…'}</button>}
        <MoveButtons step={s} />
        <button class="small" onClick={() => document.getElementById('comment-' + s.number)?.focus()}>Comment</button>
      </div>
      {asking && <Skip step={s} />}
    </div>
  )
}

// Skip asks for a reason to skip a step, or for a confirmation to remove it.
function Skip({ step: s }: { step: Step }) {
  const why = typed('skip-' + s.number), first = useRef<HTMLElement>(null)
  useLayoutEffect(() => first.current?.focus(), [])
  const needs = shown.value?.steps.filter(other => other.depends_on?.includes(s.number)).map(other => other.number) ?? []
  const send = async (e: Event) => {
    e.preventDefault()
    const done = removes() ? await act('remove_step', { ...aim(), step: s.id })
      : why.value.trim() && await act('skip_step', { step: s.id, reason: why.value.trim() })
    if (!done) return
    why.value = ''
    skipping.value = 0
  }
  return (
    <form onSubmit={send} onKeyDown={e => {
      if (e.key !== 'Escape') return
      e.preventDefault()
      close(s.number, true)
    }}>
      {needs.length > 0 && <p class="waits small">{needs.length > 1 ? 'Steps' : 'Step'} {listed(needs)} {needs.length > 1 ? 'wait' : 'waits'} for it.</p>}
      <div class="answer">
        {!removes() && <input ref={first as Ref<HTMLInputElement>} aria-label={`Reason for skipping step ${s.number}`} placeholder="Reason" value={why.value} onInput={e => { why.value = e.currentTarget.value }} />}
        <button ref={removes() ? first as Ref<HTMLButtonElement> : null} class="danger" disabled={(!removes() && !why.value.trim()) || !!busy.value}>{removes() ? 'Remove it' : 'Skip it'}</button>
        <button type="button" onClick={() => close(s.number, true)}>Keep it</button>
      </div>
    </form>
  )
}

// Fact is a row of facts.
function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return <><dt>{label}</dt><dd data-field={label.toLowerCase()}>{children}</dd></>
}

function Lines({ label, of, mono }: { label: string; of: string[] | undefined; mono?: boolean }) {
  if (!of?.length) return null
  return <Fact label={label}><ul role="list" class={mono ? 'mono' : ''}>{of.map((line, i) => <li key={i}>{mono ? line : <Markdown of={line} />}</li>)}</ul></Fact>
}

function Text({ label, of, mono }: { label: string; of: string | undefined; mono?: boolean }) {
  if (!of) return null
  return <Fact label={label}>{mono ? <p class="text mono">{of}</p> : <Markdown of={of} />}</Fact>
}

function Block({ label, of, wrong }: { label: string; of: string | undefined; wrong?: boolean }) {
  if (!of) return null
  return <Fact label={label}><pre class={wrong ? 'wrong' : ''} tabIndex={0} aria-label={label}>{of}</pre></Fact>
}

export function Facts({ step: s }: { step: Step }) {
  const waits = s.waiting_on?.length && s.status === 'pending' ? s.waiting_on : undefined
  return (
    <dl class="facts">
      <Text label="Details" of={s.details} />
      <Block label="Error" of={s.error} wrong />
      {s.depends_on?.length ? <Fact label="After"><Links to={s.depends_on} />{waits && <span class="soft"> · waits for {listed(waits)}</span>}</Fact> : null}
      {s.criteria?.length ? (
        <Fact label="Criteria">
          <ul role="list" class="criteria">
            {s.criteria.map((c, i) => <li key={i} class={c.evidence?.length ? 'shown' : s.status === 'done' ? 'untold' : ''}><Markdown of={c.text} />{c.evidence?.map((e, k) => <Shows key={k} evidence={e} />)}</li>)}
          </ul>
        </Fact>
      ) : null}
      {s.verify && <Fact label="Verify"><p class="mono text">{s.verify}</p>{s.verified && <p class="soft small">It ran and passed.</p>}</Fact>}
      {s.evidence?.length ? <Fact label="Evidence">{s.evidence.map((e, i) => <Shows key={i} evidence={e} />)}</Fact> : null}
      <Lines label="Hints" of={s.hints} />
      <Lines label="Paths" of={s.paths} mono />
      <Lines label="Creates" of={s.creates} mono />
      <Text label="May use" of={s.tool ? undefined : s.tools?.join(', ')} mono />
      {s.tool && <Fact label="Tool"><p class="mono">{s.tool}</p>{s.tool_says && <p class="soft small">Its own description: {s.tool_says}</p>}</Fact>}
      <Block label="Arguments" of={s.ask?.args ? undefined : s.args} />
      <Text label="When" of={s.when} mono />
      <Text label="For each" of={s.for_each} mono />
      <Text label="Asks first" of={s.pause} />
      {s.requires_approval && <Fact label="Approval">A person must approve it before it runs.</Fact>}
      {s.always && <Fact label="When a run ends">It runs whatever happened, to clean up.</Fact>}
      {s.idempotent && <Fact label="Repeats">It is safe to repeat.</Fact>}
      {s.timeout ? <Fact label="At most">{span(s.timeout)}</Fact> : null}
      <Text label="For" of={s.suggested_agent} />
      {s.of ? <Fact label="Part of"><Links to={[s.of]} /></Fact> : null}
      <Lines label="Notes" of={s.notes} />
      <Block label="Output" of={s.output} />
      <Lines label="Changed" of={s.affected_files} mono />
      {s.started_at && <Fact label="Started"><When at={s.started_at} />{(s.attempts ?? 0) > 1 && <span class="soft"> · {count(s.attempts ?? 0, 'attempt')}</span>}</Fact>}
      {s.completed_at && <Fact label="Ended"><When at={s.completed_at} />{s.executed_by && <span class="soft"> · {hostName(s.executed_by)}</span>}</Fact>}
      {s.other?.map(o => <Text key={o.label} label={o.label} of={o.text} />)}
    </dl>
  )
}

export function Links({ to, show = n => { selected.value = n } }: { to: number[]; show?: (number: number) => void }) {
  return <>{to.map((n, i) => <span key={n}>{i > 0 && ', '}<button class="link" aria-label={`Step ${n}`} onClick={() => show(n)}>{n}</button></span>)}</>
}

export function When({ at }: { at: string }) {
  return <time dateTime={at} title={moment(at)}>{ago(at, clock.value)}</time>
}

function Shows({ evidence: e }: { evidence: Evidence }) {
  const bad = e.exit_code !== undefined && e.exit_code !== 0
  return (
    <div class="evidence">
      {e.note && <Markdown of={e.note} />}
      {e.command && <p class="mono">{e.command} <span class={bad ? 'wrong' : 'soft'}>{e.exit_code !== undefined && `exit ${e.exit_code}`}</span></p>}
      <p class="soft small">
        {[e.recorded ? 'run by planloop' : e.command && 'reported by the agent', e.stale && 'from an earlier attempt', e.by && hostName(e.by)].filter(Boolean).join(' · ')} {e.at && <When at={e.at} />}
      </p>
      {e.output && <details><summary>Output</summary><pre tabIndex={0}>{e.output}</pre></details>}
    </div>
  )
}
