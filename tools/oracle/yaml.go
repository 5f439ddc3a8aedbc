package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func init() {
	register("yaml.toJSON", withText(func(text string) (any, error) {
		return asString(yaml.YAMLToJSON([]byte(text)))
	}))
	register("yaml.toJSONStrict", withText(func(text string) (any, error) {
		return asString(yaml.YAMLToJSONStrict([]byte(text)))
	}))
	// The input is JSON text, so that numbers reach the library as they were written.
	register("yaml.fromJSON", withText(func(text string) (any, error) {
		return asString(yaml.JSONToYAML([]byte(text)))
	}))
	// What a decoded object becomes, numbers being float64 as in an untyped Go value.
	register("yaml.marshal", func(input json.RawMessage) (any, error) {
		var value any
		if err := json.Unmarshal(input, &value); err != nil {
			return nil, err
		}
		return asString(yaml.Marshal(value))
	})
	register("yaml.documents", withText(documents))
}

// documents splits a stream as kubectl does: on lines that begin with "---".
func documents(text string) (any, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	found := []string{}
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, string(document))
	}
}

// withText makes an operation of a function on one text.
func withText(run func(text string) (any, error)) operation {
	return func(input json.RawMessage) (any, error) {
		var text string
		if err := json.Unmarshal(input, &text); err != nil {
			return nil, err
		}
		return run(text)
	}
}

func asString(bytes []byte, err error) (any, error) {
	return string(bytes), err
}
