package main

import (
	"encoding/json"
	"fmt"
	"math"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func init() {
	// A float64, given by its bits so that no parser stands in between, as encoding/json writes it.
	register("json.float", withBits(func(value float64) (any, error) {
		return asString(json.Marshal(value))
	}))
	// The same number as fmt's %v shows it, which is how Go programs print values in messages.
	register("json.floatVerb", withBits(func(value float64) (any, error) {
		return fmt.Sprintf("%v", value), nil
	}))
	// A value, read as Kubernetes reads JSON, as fmt's %v shows it.
	register("json.verb", withText(func(text string) (any, error) {
		var value any
		if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
			return nil, err
		}
		return fmt.Sprintf("%v", value), nil
	}))
	// A text read as Kubernetes reads JSON (integers stay int64) and written again.
	register("json.compact", withText(compact))
	register("json.indent", withText(func(text string) (any, error) {
		var value any
		if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
			return nil, err
		}
		return asString(json.MarshalIndent(value, "", "  "))
	}))
}

func compact(text string) (any, error) {
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		return nil, err
	}
	return asString(json.Marshal(value))
}

func withBits(run func(value float64) (any, error)) operation {
	return func(input json.RawMessage) (any, error) {
		var bits uint64
		if err := json.Unmarshal(input, &bits); err != nil {
			return nil, err
		}
		return run(math.Float64frombits(bits))
	}
}
