// Package resources renders a state for reading: as JSON and YAML for programs,
// as Markdown and Mermaid for people, and as a bounded page for models. It knows
// the plan and nothing of stores, protocols or commands; every function is pure.
package resources
