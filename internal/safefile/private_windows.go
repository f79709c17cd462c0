package safefile

import "io/fs"

// NoFollow has no effect: creating a link needs rights that users do not have.
const NoFollow = 0

// checkOwner accepts everything: a folder in the user's profile inherits an access list that keeps others out.
func checkOwner(string, fs.FileInfo, bool) error { return nil }

// UserOnly is always true: Windows does not control access by modes.
func UserOnly(fs.FileMode) bool { return true }
