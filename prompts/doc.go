// Package prompts holds every text that steers a model: the planning section,
// the server's instructions and the prompts a person picks from a menu. Each
// text is a Markdown template in templates/, rendered by name from plain data,
// so that wording is read, reviewed and changed as text.
//
// The package knows the names of the planning tools, because the texts teach
// them. It must not know how a text reaches a model (MCP, a command line, a
// file), nor hold or look up any state of a plan.
package prompts
