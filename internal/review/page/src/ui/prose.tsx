// Texts for display: backquoted text is code, and agents have short names. Everything is rendered as text nodes.

import { names } from '../store'
import { plainly } from './say'

export function Prose({ of }: { of: string }) {
  const parts = of.split(/`([^`\n]+)`/)
  return parts.length === 1 ? <>{of}</> : <>{parts.map((text, i) => i % 2 ? <code key={i}>{text}</code> : text)}</>
}

// Name is a person's or agent's name, with the full name in the title if it is shortened.
export function Name({ of }: { of: string | undefined }) {
  const short = plainly(of ?? '', names.value)
  return short === of ? <>{of}</> : <span title={of}>{short}</span>
}

// Told is a sentence by the program.
export function Told({ of }: { of: string }) {
  const short = plainly(of, names.value)
  return <span title={short === of ? undefined : of}><Prose of={short} /></span>
}
