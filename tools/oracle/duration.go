package main

import (
	"strconv"
	"time"
)

func init() {
	// A duration as Go reads it: its nanoseconds, and how Go writes it.
	register("duration.parse", withText(func(text string) (any, error) {
		duration, err := time.ParseDuration(text)
		if err != nil {
			return nil, err
		}
		return strconv.FormatInt(int64(duration), 10) + " " + duration.String(), nil
	}))
}
