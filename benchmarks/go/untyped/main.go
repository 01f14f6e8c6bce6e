// A webhook without Kubernetes' types: the review decoded into maps, and admitted.
package main

import (
	"encoding/json"
	"errors"
	"flag"

	"draguard/benchmarks/serving"
)

var errNoReview = errors.New("the AdmissionReview has no request")

func main() {
	flag.Parse()
	serving.Run(admit, admit)
}

func admit(body []byte) ([]byte, error) {
	var review map[string]any
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	request, ok := review["request"].(map[string]any)
	if !ok {
		return nil, errNoReview
	}
	return json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1",
		"kind":       "AdmissionReview",
		"response":   map[string]any{"uid": request["uid"], "allowed": true},
	})
}
