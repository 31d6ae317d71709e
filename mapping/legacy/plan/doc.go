// Package plan reports how far each resource of a legacy store has moved to Portico, the evidence
// for the next step, and the lines of configuration for that step.
//
// # Principles
//
//  1. It decides nothing and changes nothing: [New] is a pure function from a [Situation] to a
//     [Plan].
//  2. The rules of the routes alone determine the state of a resource. Evidence shows the findings
//     that must be resolved before the next step. Missing evidence is reported as unknown, with the
//     command that finds it.
//  3. Reads move before writes: all reads that show changes by the writes. Writes of the parts
//     of a record move together with the writes of the record, because one write may change
//     both. Requests without a route, such as /oauth/, move last.
//  4. Each step describes its effect on the way back, which stays open while writes are
//     mirrored, and ends when the legacy store is turned off.
//  5. No step has lines that Portico refuses at its start ([CheckRules]).
//
// # How it is tested
//
// Table tests have a case for every state and step. Random rules check that the lines of a step
// make the intended change, and no other. The tests of package app move whole stores from the
// first step to the last and back, with the lines that the plan prints.
package plan
