// Command podsecurity reads Kubernetes manifests from standard input and says which pods Pod Security's level "restricted" would refuse, and
// why, by the library that the API server uses. It ends with 1 if there are any, and with 2 if it found no pod at all.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

func main() {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		fail(err)
	}
	manifests, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	seen, refused := 0, 0
	for _, manifest := range bytes.Split(manifests, []byte("\n---")) {
		name, meta, spec, err := pod(manifest)
		if err != nil {
			fail(err)
		}
		if spec == nil {
			continue
		}
		seen++
		restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, meta, spec))
		if !result.Allowed {
			refused++
			fmt.Printf("%s: %s: %s\n", name, result.ForbiddenReason(), result.ForbiddenDetail())
		}
	}
	fmt.Printf("%d pods, %d refused\n", seen, refused)
	switch {
	case seen == 0:
		os.Exit(2)
	case refused > 0:
		os.Exit(1)
	}
}

// pod is what a manifest runs, or nil if it runs nothing.
func pod(manifest []byte) (string, *metav1.ObjectMeta, *corev1.PodSpec, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(manifest, &kind); err != nil {
		return "", nil, nil, err
	}
	switch kind.Kind {
	case "Deployment":
		var deployment appsv1.Deployment
		err := yaml.UnmarshalStrict(manifest, &deployment)
		template := &deployment.Spec.Template
		return "Deployment " + deployment.Name, &template.ObjectMeta, &template.Spec, err
	case "Pod":
		var single corev1.Pod
		err := yaml.UnmarshalStrict(manifest, &single)
		return "Pod " + single.Name, &single.ObjectMeta, &single.Spec, err
	case "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet":
		return "", nil, nil, fmt.Errorf("%s: not looked into: teach podsecurity to", kind.Kind)
	}
	return "", nil, nil, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(3)
}
