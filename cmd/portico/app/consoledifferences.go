package app

import (
	"context"

	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// differences returns the differences that shadow reads of this process and the last sweep have
// found.
func (p *consoleParts) differences(ctx context.Context) (*webconsole.DifferenceReport, error) {
	report := &webconsole.DifferenceReport{}
	rows := map[[2]string]*webconsole.FieldDifference{}
	row := func(call, field string) *webconsole.FieldDifference {
		key := [2]string{call, field}
		if rows[key] == nil {
			rows[key] = &webconsole.FieldDifference{Call: call, Field: field}
		}
		return rows[key]
	}
	if s := p.rules.current().watchers.counted; s != nil {
		report.ShadowSince = s.Since()
		for _, call := range s.Counts() {
			for field, n := range call.Fields {
				row(call.Call, field).Shadow = n
			}
		}
		for _, sample := range s.Samples() {
			report.Samples = append(report.Samples, webconsole.Difference{
				Source: "shadow", Time: sample.Time, Call: sample.Call, Field: sample.Field, Consumer: sample.Consumer,
				Target: sample.Target, Record: sample.Record, Legacy: sample.Legacy, Candidate: sample.Candidate,
			})
		}
	}
	sweep, err := program.Noted[plan.Sweep](ctx, p.db, plan.SweepEvidence)
	if err != nil {
		return nil, err
	}
	fields, err := program.Noted[[]plan.SweptField](ctx, p.db, plan.SweptFieldsEvidence)
	if err != nil {
		return nil, err
	}
	if sweep != nil {
		report.Swept = sweep.Ended
	}
	if fields != nil {
		for _, field := range *fields {
			row(field.Call, field.Field).Sweep = int64(field.Answers)
			for _, e := range field.Examples {
				report.Samples = append(report.Samples, webconsole.Difference{
					Source: "sweep", Time: report.Swept, Call: field.Call, Field: field.Field, Consumer: e.As,
					Target: e.Request, Record: e.Record, Legacy: e.Legacy, Candidate: e.Candidate,
				})
			}
		}
	}
	for _, r := range rows {
		report.Fields = append(report.Fields, *r)
	}
	return report, nil
}
