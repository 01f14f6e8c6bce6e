// A webhook with Kubernetes' types: the review and the pod are decoded into them, one rule is asked, and an answer of
// that type is encoded. Most decode as controller-runtime and Kubernetes' own examples do, with a codec factory; the
// standard library takes less.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"

	admission "k8s.io/api/admission/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"draguard/benchmarks/serving"
)

var (
	typeMeta    = meta.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	jsonPatch   = admission.PatchTypeJSONPatch
	dropNode    = []byte(`[{"op":"remove","path":"/spec/nodeName"}]`)
	errNoReview = errors.New("the AdmissionReview has no request")
)

type decode func(body []byte, into runtime.Object) error

func main() {
	name := flag.String("decoder", "kubernetes", "kubernetes (a codec factory) or standard (encoding/json)")
	flag.Parse()
	decoder, known := map[string]decode{"kubernetes": codecs(), "standard": standard}[*name]
	if !known {
		log.Fatalf("no decoder %q", *name)
	}
	serving.Run(answering(decoder, validate), answering(decoder, mutate))
}

func codecs() decode {
	scheme := runtime.NewScheme()
	utilruntime.Must(admission.AddToScheme(scheme))
	utilruntime.Must(core.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	return func(body []byte, into runtime.Object) error {
		_, _, err := decoder.Decode(body, nil, into)
		return err
	}
}

func standard(body []byte, into runtime.Object) error {
	return json.Unmarshal(body, into)
}

func answering(decoder decode, decide func(*core.Pod) *admission.AdmissionResponse) func([]byte) ([]byte, error) {
	return func(body []byte) ([]byte, error) {
		var review admission.AdmissionReview
		if err := decoder(body, &review); err != nil {
			return nil, err
		}
		if review.Request == nil {
			return nil, errNoReview
		}
		var pod core.Pod
		if err := decoder(review.Request.Object.Raw, &pod); err != nil {
			return nil, err
		}
		response := decide(&pod)
		response.UID = review.Request.UID
		return json.Marshal(admission.AdmissionReview{TypeMeta: typeMeta, Response: response})
	}
}

// validate refuses a pod that sets its node, and a container's claim that the pod has not.
func validate(pod *core.Pod) *admission.AdmissionResponse {
	if preScheduled(pod) {
		return refusal("spec.nodeName: nobody would allocate the pod's claims")
	}
	claims := make(map[string]bool, len(pod.Spec.ResourceClaims))
	for _, claim := range pod.Spec.ResourceClaims {
		claims[claim.Name] = true
	}
	for index, container := range pod.Spec.Containers {
		for _, claim := range container.Resources.Claims {
			if !claims[claim.Name] {
				return refusal(fmt.Sprintf("spec.containers[%d].resources.claims: no claim %q", index, claim.Name))
			}
		}
	}
	return &admission.AdmissionResponse{Allowed: true}
}

// mutate leaves the choice of a node to the scheduler.
func mutate(pod *core.Pod) *admission.AdmissionResponse {
	if !preScheduled(pod) {
		return &admission.AdmissionResponse{Allowed: true}
	}
	return &admission.AdmissionResponse{Allowed: true, PatchType: &jsonPatch, Patch: dropNode}
}

func preScheduled(pod *core.Pod) bool {
	return pod.Spec.NodeName != "" && len(pod.Spec.ResourceClaims) > 0
}

func refusal(message string) *admission.AdmissionResponse {
	return &admission.AdmissionResponse{Result: &meta.Status{Status: meta.StatusFailure, Code: 422, Message: message}}
}
