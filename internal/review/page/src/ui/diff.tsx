// The differences from the plan shown before, next to the comments on that plan.

import { useSignal } from '@preact/signals'
import { altered, numberOf, rows, summary } from '../difference'
import { comments, pane, selected, shown, showsDraft, view } from '../store'
import type { Difference as Differing, Step, StepChange } from '../types'
import { changes, entries, type Part } from '../textdiff'
import { Returned, CommentList } from './comments'
import { blocks, Markdown } from './markdown'
import { Prose } from './prose'
import { Undone } from './undone'
import { moment } from './format'
import { listed } from '../status'

type FieldChange = Differing['plan'][number]

export function Difference() {
  const d = shown.value?.difference, all = useSignal(false)
  if (!d) return <p class="empty">There is no earlier version to compare with.</p>
  return (
    <section class="difference" aria-label="Changes">
      <header class="difference-head">
        <div>
          <h2>{summary(d)}</h2>
          <p class="soft">since version {d.from.version} of {moment(d.from.at)}</p>
        </div>
        <label class="toggle"><input type="checkbox" checked={!all.value} onChange={e => { all.value = !e.currentTarget.checked }} /> changes only</label>
      </header>
      {showsDraft.value && view.value?.draft && <Undone draft={view.value.draft} />}
      {d.plan.length > 0 && (
        <section class="delta" aria-label="The plan itself">
          <h3>The plan itself</h3>
          <Fields of={d.plan} />
        </section>
      )}
      <Returned />
      <CommentList step={0} but={d.steps.filter(s => s.change === 'removed').map(s => s.title)} />
      {rows(d, shown.value?.steps ?? [], all.value, new Set(comments.value.map(c => c.step ?? 0))).map(row => row.change
        ? <Changed key={'c' + row.change.id + row.change.change} change={row.change} step={row.step} />
        : <Unchanged key={'s' + row.step!.id} step={row.step!} />)}
      {!d.plan.length && !d.steps.some(altered) && <p class="empty">The content of the plan has not changed.</p>}
    </section>
  )
}

function Unchanged({ step: s }: { step: Step }) {
  return <div class="unchanged"><p><StepNumber of={s.number} /> <Prose of={s.title} /></p><CommentList step={s.number} /></div>
}

function StepNumber({ of }: { of: number }) {
  const go = () => {
    selected.value = of
    pane.value = 'plan'
  }
  return <button class="link number" aria-label={`Step ${of}`} onClick={go}>{of}</button>
}

function Changed({ change: c, step }: { change: StepChange; step: Step | undefined }) {
  const fields = (c.fields ?? []).filter(f => f.field !== 'title' && f.field !== 'status')
  const title = c.fields?.find(f => f.field === 'title'), moved = c.fields?.find(f => f.field === 'place')
  const number = step?.number ?? numberOf(c.id)
  return (
    <article class={`delta is-${c.change}`} aria-label={`Step ${number}, ${c.change}`}>
      <h3>
        <span class="kind">{c.change}</span>
        {step ? <StepNumber of={number} /> : <del class="number">{number}</del>}
        {c.was && numberOf(c.was) !== number && <span class="soft small">was {numberOf(c.was)}</span>}
        <span class="title">
          {c.change === 'removed' ? <del><Prose of={c.title} /></del> : c.change === 'added' ? <ins><Prose of={c.title} /></ins> : title ? <Words of={changes(title.was.join('\n'), title.now.join('\n'))} /> : <Prose of={c.title} />}
        </span>
      </h3>
      {c.change === 'moved' && !moved && step && <p class="soft">It was moved{step.depends_on?.length ? `, still after ${listed(step.depends_on)}` : ''}.</p>}
      {c.change === 'added' || c.change === 'removed'
        ? <Whole of={fields} gone={c.change === 'removed'} />
        : <Fields of={fields} />}
      {step ? <CommentList step={step.number} /> : <CommentList step={0} gone={c.title} />}
    </article>
  )
}

// Words are drawn as prose; in plain text a backquote is an ordinary character.
function Words({ of, plain }: { of: Part[]; plain?: boolean }) {
  const text = (part: Part) => plain ? part.text : <Prose of={part.text} />
  return <>{of.map((part, i) => part.kind === 'was' ? <del key={i}>{text(part)}</del> : part.kind === 'now' ? <ins key={i}>{text(part)}</ins> : text(part))}</>
}

function Fields({ of }: { of: FieldChange[] }) {
  if (!of.length) return null
  return (
    <dl class="facts">
      {of.map(f => (
        <div key={f.field}>
          <dt>{f.label}</dt>
          <dd class={exact.has(f.field) ? 'mono' : undefined}><Field of={f} /></dd>
        </div>
      ))}
    </dl>
  )
}

function Field({ of: f }: { of: FieldChange }) {
  if (f.field === 'depends_on') return <p class="text"><Words of={changes(numbers(f.was), numbers(f.now))} /></p>
  const plain = exact.has(f.field), told = (text: string) => plain ? text : <Markdown of={text} />
  if (f.was.length <= 1 && f.now.length <= 1) return <Text plain={plain} was={f.was[0] ?? ''} now={f.now[0] ?? ''} />
  return (
    <ul role="list">
      {entries(f.was, f.now).map((e, i) => (
        <li key={i} class={`text entry-${e.kind}`}>
          {e.kind === 'changed' ? <Words plain={plain} of={e.parts} /> : e.kind === 'was' ? <del>{told(e.text)}</del> : e.kind === 'now' ? <ins>{told(e.text)}</ins> : told(e.text)}
        </li>
      ))}
    </ul>
  )
}

// Text is a text that changed: its changed blocks in their source, since Markdown would hide changed marks; the others as Markdown.
function Text({ was, now, plain }: { was: string; now: string; plain: boolean }) {
  const a = plain ? [was] : blocks(was), b = plain ? [now] : blocks(now), most = Math.min(a.length, b.length)
  let head = 0, tail = 0
  while (head < most && a[head] === b[head]) head++
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const changed = [a, b].map(all => all.slice(head, all.length - tail).join('')), lead = changed.every(text => !text || text.startsWith('\n\n')) ? 2 : 0
  return (
    <>
      {head > 0 && <Markdown of={a.slice(0, head).join('')} />}
      <p class="text"><Words plain={plain} of={changes(changed[0]!.slice(lead), changed[1]!.slice(lead))} /></p>
      {tail > 0 && <Markdown of={a.slice(a.length - tail).join('').replace(/^\n+/, '')} />}
    </>
  )
}

// exact are the fields in which every character counts.
const exact = new Set(['relevant_file_paths', 'creates', 'tools', 'tool', 'args', 'verify', 'when', 'for_each'])

const numbers = (ids: string[]) => listed(ids.map(numberOf))

// Whole is an added or removed step: its words need no marks.
function Whole({ of, gone }: { of: FieldChange[]; gone: boolean }) {
  if (!of.length) return null
  return (
    <dl class="facts">
      {of.map(f => (
        <div key={f.field}>
          <dt>{f.label}</dt>
          <dd>{(f.field === 'depends_on' ? [numbers(gone ? f.was : f.now)] : gone ? f.was : f.now).map((text, i) => exact.has(f.field) ? <p key={i} class="text mono">{text}</p> : <Markdown key={i} of={text} />)}</dd>
        </div>
      ))}
    </dl>
  )
}
