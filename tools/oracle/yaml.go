package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"

	goyaml "go.yaml.in/yaml/v2"
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
	// What Kubernetes makes of a manifest: JSON, of which whole numbers that fit become an int64.
	register("yaml.toObject", withText(func(text string) (any, error) {
		return toObject(text, yaml.YAMLToJSON)
	}))
	register("yaml.toObjectStrict", withText(func(text string) (any, error) {
		return toObject(text, yaml.YAMLToJSONStrict)
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

func toObject(text string, toJSON func([]byte) ([]byte, error)) (any, error) {
	converted, err := toJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := onlyDocument(text); err != nil {
		return nil, err
	}
	return compact(string(converted))
}

// onlyDocument fails if anything follows the first document of a text, which the conversion to JSON does not look at.
func onlyDocument(text string) error {
	decoder := goyaml.NewDecoder(strings.NewReader(text))
	for count := 0; ; count++ {
		var document any
		err := decoder.Decode(&document)
		if err == io.EOF {
			return nil
		}
		if err == nil && count > 0 {
			return errors.New("more than one document")
		}
		if err != nil {
			return err
		}
	}
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
