// A webhook with types: the review and the pod are decoded into them by the standard library, one rule is asked, and an
// answer of that type is encoded. Kubernetes' own decoders, as most webhooks use them, take longer.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"draguard/benchmarks/serving"
)

var (
	answerMeta  = typeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	jsonPatch   = "JSONPatch"
	dropNode    = []byte(`[{"op":"remove","path":"/spec/nodeName"}]`)
	errNoReview = errors.New("the AdmissionReview has no request")
)

func main() {
	flag.Parse()
	serving.Run(answering(validate), answering(mutate))
}

func answering(decide func(*pod) *admissionResponse) func([]byte) ([]byte, error) {
	return func(body []byte) ([]byte, error) {
		var review admissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			return nil, err
		}
		if review.Request == nil {
			return nil, errNoReview
		}
		var asked pod
		if err := json.Unmarshal(review.Request.Object, &asked); err != nil {
			return nil, err
		}
		response := decide(&asked)
		response.UID = review.Request.UID
		return json.Marshal(admissionReview{typeMeta: answerMeta, Response: response})
	}
}

// validate refuses a pod that sets its node, and a container's claim that the pod has not.
func validate(asked *pod) *admissionResponse {
	if preScheduled(asked) {
		return refusal("spec.nodeName: nobody would allocate the pod's claims")
	}
	claims := make(map[string]bool, len(asked.Spec.ResourceClaims))
	for _, claim := range asked.Spec.ResourceClaims {
		claims[claim.Name] = true
	}
	for index, container := range asked.Spec.Containers {
		for _, claim := range container.Resources.Claims {
			if !claims[claim.Name] {
				return refusal(fmt.Sprintf("spec.containers[%d].resources.claims: no claim %q", index, claim.Name))
			}
		}
	}
	return &admissionResponse{Allowed: true}
}

// mutate leaves the choice of a node to the scheduler.
func mutate(asked *pod) *admissionResponse {
	if !preScheduled(asked) {
		return &admissionResponse{Allowed: true}
	}
	return &admissionResponse{Allowed: true, PatchType: &jsonPatch, Patch: dropNode}
}

func preScheduled(asked *pod) bool {
	return asked.Spec.NodeName != "" && len(asked.Spec.ResourceClaims) > 0
}

func refusal(message string) *admissionResponse {
	return &admissionResponse{Result: &status{Status: "Failure", Code: 422, Message: message}}
}
