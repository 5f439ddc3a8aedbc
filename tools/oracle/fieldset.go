package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func init() {
	// FieldsV1 text, read and written again.
	register("fieldset.normalize", withText(func(text string) (any, error) {
		set, err := fieldSet(text)
		if err != nil {
			return nil, err
		}
		return asString(set.ToJSON())
	}))
	register("fieldset.algebra", algebra)
	// The fields that an object of a built-in kind writes.
	register("fieldset.written", written)
	// A quantity's exact value as a decimal number.
	register("quantity.decimal", withText(func(text string) (any, error) {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, err
		}
		return quantity.AsDec().String(), nil
	}))
}

func fieldSet(text string) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(strings.NewReader(text))
}

// algebra answers the result of every operation on the two sets left and right.
func algebra(input json.RawMessage) (any, error) {
	var texts struct{ Left, Right string }
	if err := json.Unmarshal(input, &texts); err != nil {
		return nil, err
	}
	left, leftErr := fieldSet(texts.Left)
	right, rightErr := fieldSet(texts.Right)
	if err := errors.Join(leftErr, rightErr); err != nil {
		return nil, err
	}
	results := map[string]*fieldpath.Set{
		"union":               left.Union(right),
		"intersection":        left.Intersection(right),
		"difference":          left.Difference(right),
		"recursiveDifference": left.RecursiveDifference(right),
		"leaves":              left.Leaves(),
	}
	answers := map[string]any{"equal": left.Equals(right), "size": left.Size()}
	for name, result := range results {
		text, err := result.ToJSON()
		if err != nil {
			return nil, err
		}
		answers[name] = string(text)
	}
	return answers, nil
}

// Duplicates are refused in a patch only; the server works on with objects that have them.
var converter = applyconfigurations.NewTypeConverter(scheme.Scheme)

func written(input json.RawMessage) (any, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(bytes.TrimSpace(input)); err != nil {
		return nil, err
	}
	value, err := converter.ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return asString(set.ToJSON())
}
