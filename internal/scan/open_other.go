//go:build !unix

package scan

const openFlag = 0
