// Package exitwith ties a process to the one that started it.
package exitwith

import (
	"io"
	"os"
)

// Stdin ends this process when its standard input closes. Whoever sets PLIMSOLL_EXIT_WITH_STDIN holds the other
// end: when that end closes, even by a SIGKILL, nobody owns this process any more.
func Stdin() {
	if os.Getenv("PLIMSOLL_EXIT_WITH_STDIN") == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
