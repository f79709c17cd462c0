// Texts as they are read: what stands in back quotes is code, and agents have short names. All of it is text nodes.

import { names } from '../store'
import { plainly } from './say'

export function Prose({ of }: { of: string }) {
  const parts = of.split(/`([^`\n]+)`/)
  return parts.length === 1 ? <>{of}</> : <>{parts.map((text, i) => i % 2 ? <code key={i}>{text}</code> : text)}</>
}

// Name is who somebody is, whole in the title where it is shortened.
export function Name({ of }: { of: string | undefined }) {
  const short = plainly(of ?? '', names.value)
  return short === of ? <>{of}</> : <span title={of}>{short}</span>
}

// Told is a sentence of the program.
export function Told({ of }: { of: string }) {
  const short = plainly(of, names.value)
  return <span title={short === of ? undefined : of}><Prose of={short} /></span>
}
