// Texts for display: backquoted text is code. Everything is rendered as text nodes.

export function Prose({ of }: { of: string }) {
  const parts = of.split(/`([^`\n]+)`/)
  return parts.length === 1 ? <>{of}</> : <>{parts.map((text, i) => i % 2 ? <code key={i}>{text}</code> : text)}</>
}
