package private

import "io/fs"

// NoFollow is nothing here: a link needs rights that users do not have.
const NoFollow = 0

// checkOwner has nothing to look at: a folder in the user's profile inherits an access
// list that keeps others out.
func checkOwner(string, fs.FileInfo, bool) error { return nil }

// Only reports nothing: modes say nothing about access here.
func Only(fs.FileMode) bool { return true }
