// Package toolbox holds the tools that a model needs to work in a workspace, for
// hosts that have none of their own and for the steps of a plan that planloop
// runs itself: view, glob, grep, create_file, str_replace and bash_execute. Each
// is a method of a Box from one struct to another; the output's JSON and its Text
// each are the whole answer.
//
// Files are reached through os.Root alone: no name, link or race leads out of the
// workspace. Whatever is shown is bounded in lines and bytes and says so when it
// was cut, and its control characters are escaped. Commands are run by a Runner,
// which is where a policy has its place.
//
// The package must not know plans, phases, approval, protocols or hosts: who may
// call what, and when, is decided by those who call it.
package toolbox
