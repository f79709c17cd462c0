// Package prompts holds every text that steers a model: the planning section,
// the server's instructions, the prompts a person picks from a menu, and those
// that ask a model to plan, to judge a plan or to suggest tasks. Each text is a
// Markdown template in templates/, rendered by name from plain data, so that
// wording is read, reviewed and changed as text.
//
// What comes from elsewhere (files, plans, the output of tools) is data. It is
// quoted between fences that it cannot close, with control characters made
// visible, and bounded by the limits in bounds.go; what was cut is said.
//
// The package knows the names of tools and commands, because the texts teach
// them. It must not know how a text reaches a model (MCP, a command line, a
// file), nor hold or look up any state of a plan.
package prompts
