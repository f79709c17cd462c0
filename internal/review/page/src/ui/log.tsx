// The history in words, newest first, day by day. Older entries are read on request, or when they come into view.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { asFault } from '../source'
import { former, formerPlan, names, source, view, workspace } from '../store'
import type { LogLine, Step } from '../types'
import { Prose } from './prose'
import { hostName, moment, sentence } from './format'
import { openStep } from './run'
import { Timeline } from './timeline'

export function Log() {
  return <Lines key={workspace.value + ' ' + former.value} />
}

function Lines() {
  const lines = useSignal<LogLine[]>([]), more = useSignal(false), failed = useSignal(''), reading = useRef(false)
  const end = useRef<HTMLButtonElement>(null)
  const revision = view.value?.revision
  // read adds newer entries, or with before older ones; an entry never changes.
  const read = async (before?: number) => {
    const from = source.value
    if (!from || reading.current) return
    reading.current = true
    try {
      const got = await from.log(workspace.value, before, former.value)
      const first = !lines.value.length
      const known = new Set(lines.value.map(l => l.revision))
      const fresh = got.lines.filter(l => !known.has(l.revision))
      const gap = !before && !first && fresh.length === got.lines.length && got.more // so many are new that some in between may be missing
      lines.value = gap ? got.lines : [...lines.value, ...fresh].sort((a, b) => b.revision - a.revision)
      if (before || first || gap) more.value = !!got.more
      failed.value = ''
    } catch (e) {
      failed.value = asFault(e).message
    }
    reading.current = false
  }
  useEffect(() => { void read() }, [revision])
  const everybody = new Set([...names.value, ...lines.value.map(l => l.who)])
  const older = () => { void read(lines.value.at(-1)?.revision) }
  useEffect(() => {
    if (!end.current) return undefined
    const seen = new IntersectionObserver(found => { if (found.some(f => f.isIntersecting)) older() }, { rootMargin: '300px' })
    seen.observe(end.current)
    return () => seen.disconnect()
  }, [more.value, lines.value.length])
  return (
    <section class="log" aria-label="Log">
      {!former.value && !view.value?.run && <Timeline />}
      {days(lines.value).map(([day, all]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ol role="list">
            {all.map(l => (
              <li key={l.revision} class={`by-${l.kind}`}>
                <time dateTime={l.at} title={moment(l.at)}>{clockTime(l.at)}</time>
                <span class="who">{hostName(l.who)}</span>
                <span class="text"><Named text={sentence(without(l.text, l.who), everybody)} steps={titled(l)} /></span>
              </li>
            ))}
          </ol>
        </section>
      ))}
      {failed.value && <p class="notice is-wrong">{failed.value}</p>}
      {more.value && <button ref={end} class="quiet" onClick={older}>Older entries</button>}
      {!lines.value.length && !failed.value && <p class="empty">Nothing has happened yet.</p>}
    </section>
  )
}

// without leaves out the name that is next to the text already.
const without = (text: string, who: string) => text.replace(` by ${who}`, '')

// titled returns the steps that an entry can name: those of the plan shown, if the entry is not older. People's edits of a waiting plan may
// name steps by numbers that are others' now.
function titled(l: LogLine): readonly Step[] {
  const p = former.value ? formerPlan.value?.plan : view.value?.plan ?? view.value?.draft?.plan, draft = !former.value && view.value?.plan && view.value.draft
  if (!p || l.at < p.created_at || (draft && l.at >= draft.at) || (l.kind === 'person' && /\b(added|removed|moved)\b/.test(l.text))) return []
  return p.steps
}

// Named is a text with the steps' titles in the place of their ids.
function Named({ text, steps }: { text: string; steps: readonly Step[] }) {
  if (!steps.length) return <Prose of={text} />
  return <>{text.split(/\b(S\d{3,})\b/).map((part, i) => {
    const step = i % 2 ? steps.find(s => s.id === part) : undefined
    return step ? <button key={i} class="link step-name" onClick={() => openStep(step.number)}>{step.number} {step.title}</button> : <Prose key={i} of={part} />
  })}</>
}

const clockTime = (at: string) => new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })

function days(lines: LogLine[]): [string, LogLine[]][] {
  const all = new Map<string, LogLine[]>()
  for (const line of lines) {
    const day = dayOf(line.at)
    const known = all.get(day)
    if (known) known.push(line)
    else all.set(day, [line])
  }
  return [...all]
}

function dayOf(at: string): string {
  const day = new Date(at), today = new Date()
  const long = day.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', ...(day.getFullYear() !== today.getFullYear() && { year: 'numeric' }) })
  if (day.toDateString() === today.toDateString()) return `Today, ${long}`
  today.setDate(today.getDate() - 1)
  return day.toDateString() === today.toDateString() ? `Yesterday, ${long}` : long
}
