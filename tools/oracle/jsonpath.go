package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// jsonpathRequest asks what a template prints for an object.
type jsonpathRequest struct {
	Template         string          `json:"template"`
	Object           json.RawMessage `json:"object"`
	AllowMissingKeys bool            `json:"allowMissingKeys"`
	// Expected is the outcome to look for among those that chance allows.
	Expected string `json:"expected"`
}

// The order in which maps are visited is up to chance, and with it the order of results and which of several errors
// comes first. So such templates run again until the expected outcome has been seen, or are answered with the last one.
const attempts = 500

func init() {
	register("jsonpath.render", func(input json.RawMessage) (any, error) {
		var asked jsonpathRequest
		if err := json.Unmarshal(input, &asked); err != nil {
			return nil, err
		}
		visitsMaps := strings.Contains(asked.Template, "*") || strings.Contains(asked.Template, "..")
		var outcome string
		for attempt := 0; attempt == 0 || visitsMaps && attempt < attempts; attempt++ {
			outcome = render(asked)
			if outcome == asked.Expected {
				break
			}
		}
		return outcome, nil
	})
}

// render says what a template prints, or how it fails. Parsed templates and objects are never used twice: a template
// with a range changes when it runs.
func render(asked jsonpathRequest) (outcome string) {
	defer func() {
		if cause := recover(); cause != nil {
			outcome = fmt.Sprintf("panic: %v", cause)
		}
	}()
	var object any
	if err := utiljson.Unmarshal(asked.Object, &object); err != nil {
		return "request: " + err.Error()
	}
	path := jsonpath.New("oracle").AllowMissingKeys(asked.AllowMissingKeys)
	if err := path.Parse(asked.Template); err != nil {
		return "parse error: " + err.Error()
	}
	var text bytes.Buffer
	if err := path.Execute(&text, object); err != nil {
		return "error: " + err.Error()
	}
	return "text: " + text.String()
}
