// Command oracle answers what the Go libraries of Kubernetes do, so that tests can compare.
//
// It reads one JSON request per line on standard input and writes one JSON answer per line on standard output, in order:
//
//	{"op":"yaml.toJSON","input":"a: 1\n"}
//	{"ok":"{\"a\":1}"}
//
// A call that the library refuses is answered with {"error":"…"} in the library's own words.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

type request struct {
	Op    string          `json:"op"`
	Input json.RawMessage `json:"input"`
}

// answer has either an OK, which may be null, or an Error.
type answer struct {
	OK    any
	Error *string
}

func (a answer) MarshalJSON() ([]byte, error) {
	if a.Error != nil {
		return json.Marshal(map[string]string{"error": *a.Error})
	}
	return json.Marshal(map[string]any{"ok": a.OK})
}

func refusal(text string) answer {
	return answer{Error: &text}
}

type operation func(input json.RawMessage) (any, error)

var operations = map[string]operation{}

// register adds an operation; each subject does so in an init function of its own file.
func register(name string, run operation) {
	if _, taken := operations[name]; taken {
		panic("operation registered twice: " + name)
	}
	operations[name] = run
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// serve flushes whenever no further request is waiting, so that a batch costs few writes and a single question none extra.
func serve(requests io.Reader, answers io.Writer) error {
	in := bufio.NewReaderSize(requests, 1<<20)
	out := bufio.NewWriterSize(answers, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return out.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := encoder.Encode(reply(line)); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// reply turns a panic of a library into an answer: that it panics is a fact worth comparing, too.
func reply(line []byte) (result answer) {
	defer func() {
		if cause := recover(); cause != nil {
			result = refusal(fmt.Sprintf("panic: %v", cause))
		}
	}()
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return refusal("request is not JSON: " + err.Error())
	}
	run, known := operations[asked.Op]
	if !known {
		return refusal("unknown operation " + asked.Op)
	}
	ok, err := run(asked.Input)
	if err != nil {
		return refusal(err.Error())
	}
	return answer{OK: ok}
}
