// Package exitwith ties a process to the one that started it.
package exitwith

import (
	"io"
	"os"
)

// Stdin ends this process when its standard input closes. The process that sets PLIMSOLL_EXIT_WITH_STDIN holds the
// other end, which closes when that process ends, even by a SIGKILL.
func Stdin() {
	if os.Getenv("PLIMSOLL_EXIT_WITH_STDIN") == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
