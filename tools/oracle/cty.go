package main

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// ctyValue is one of Terraform's values, with its type, as MessagePack (base64, as Go has bytes in JSON) or as a JSON text.
type ctyValue struct {
	Type    json.RawMessage `json:"type,omitempty"`
	Msgpack []byte          `json:"msgpack,omitempty"`
	JSON    string          `json:"json,omitempty"`
}

func init() {
	// A value read by Terraform's own library and written again; in JSON only if it is wholly known.
	register("cty.msgpack", withCtyValue(func(asked ctyValue, ty cty.Type) (cty.Value, error) {
		return msgpack.Unmarshal(asked.Msgpack, ty)
	}))
	register("cty.json", withCtyValue(func(asked ctyValue, ty cty.Type) (cty.Value, error) {
		return ctyjson.Unmarshal([]byte(asked.JSON), ty)
	}))
}

func withCtyValue(read func(asked ctyValue, ty cty.Type) (cty.Value, error)) operation {
	return func(input json.RawMessage) (any, error) {
		var asked ctyValue
		if err := json.Unmarshal(input, &asked); err != nil {
			return nil, err
		}
		ty, err := ctyjson.UnmarshalType(asked.Type)
		if err != nil {
			return nil, err
		}
		value, err := read(asked, ty)
		if err != nil {
			return nil, err
		}
		return writeCtyValue(value, ty)
	}
}

func writeCtyValue(value cty.Value, ty cty.Type) (any, error) {
	bytes, err := msgpack.Marshal(value, ty)
	if err != nil {
		return nil, err
	}
	answer := ctyValue{Msgpack: bytes}
	if value.IsWhollyKnown() {
		text, err := ctyjson.Marshal(value, ty)
		if err != nil {
			return nil, err
		}
		answer.JSON = string(text)
	}
	return answer, nil
}
