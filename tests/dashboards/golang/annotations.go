// Fills annotations of alert rules as Grafana does: Go's own templates, with `$labels`, `$values` and Prometheus' functions.
//
// Standard input: a JSON list of {text, labels, values: {REF: {Labels, Value}}}, or of {message: the notification template,
// name, data}. Standard output: a JSON list of the texts.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"text/template"
)

const variables = "{{- $labels := .Labels -}}{{- $values := .Values -}}"

type value struct {
	Labels map[string]string
	Value  float64
}

type asked struct {
	Text    string
	Labels  map[string]string
	Values  map[string]value
	Message string
	Name    string
	Data    notification
}

type alert struct {
	Labels      map[string]string
	Annotations map[string]string
	SilenceURL  string
}

type alerts struct {
	Firing   []alert
	Resolved []alert
}

type notification struct {
	Alerts       alerts
	CommonLabels map[string]string
}

func humanizeDuration(seconds float64) string {
	if math.Abs(seconds) < 1 {
		return fmt.Sprintf("%.4gs", seconds)
	}
	whole := int64(math.Abs(seconds))
	parts := []int64{whole / 86400, whole / 3600 % 24, whole / 60 % 60, whole % 60}
	said := []string{}
	for place, unit := range []string{"d", "h", "m", "s"} {
		if len(said) > 0 || parts[place] > 0 || unit == "s" {
			said = append(said, fmt.Sprintf("%d%s", parts[place], unit))
		}
	}
	return strings.Join(said, " ")
}

func filled(one asked) (string, error) {
	made := template.New("").Funcs(template.FuncMap{"humanizeDuration": humanizeDuration})
	var text strings.Builder
	if one.Message != "" {
		parsed, err := made.Parse(one.Message)
		if err != nil {
			return "", err
		}
		err = parsed.ExecuteTemplate(&text, one.Name, one.Data)
		return text.String(), err
	}
	parsed, err := made.Parse(variables + one.Text)
	if err != nil {
		return "", err
	}
	err = parsed.Execute(&text, one)
	return text.String(), err
}

func main() {
	var all []asked
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	texts := []string{}
	for _, one := range all {
		text, err := filled(one)
		if err != nil {
			panic(err)
		}
		texts = append(texts, text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(texts); err != nil {
		panic(err)
	}
}
