"""A CEL engine over plain JSON values, with cel-go's types, errors and costs.

Evaluate an expression (`webhook.cel.environment`)::

    environment = Environment([OPTIONALS], variables={"object": DYN})
    program = environment.compile('object.metadata.name.startsWith("a")')
    program.evaluate({"object": {"metadata": {"name": "ab"}}})      # True

`Environment.compile` raises `CompileError` (all errors in the text, in cel-go's layout) or `ProgramError` (a constant
that always fails), for which `Environment.attempt` returns a `Refusal` in the API server's words; `Program.evaluate`
raises `EvaluationError`, or `CostLimitExceededError` if it costs more than its `Meter` allows, or is about to build a
value that is too large. All are `CelError`. An evaluation that takes too long ends with `DeadlineExceededError`, too
much work with `BudgetExceededError` (`webhook.budget`). `checker.cost.estimate_cost` estimates the cost beforehand.
Programs may be evaluated in several threads at once.

Importing `webhook` raises Python's recursion limit for the whole process, so that expressions as deep as cel-go allows
can be compiled (`webhook.limits`).

JSON stands for itself: int is `int`, float `double`, dict `map`; `webhook.cel.types.values` has the rest (`UInt`,
`Timestamp`, `Duration`, `Optional`, `Struct`), and describes the Python class of a library's own type.

Extend the language with a `Library` (see `webhook.cel.checker.declarations` for the details)::

    QUANTITY = opaque("kubernetes.Quantity")

    class Quantity:
        cel_type = QUANTITY                      # the type of the values
        def __eq__(self, other): ...             # implements `==`

    LIBRARY = Library(
        functions=(
            # name, id, parameter types, result type, implementation on plain values; raise EvaluationError for errors
            Overload("quantity", "string_to_quantity", (STRING,), QUANTITY, parse, cost=of_argument(0)),
            member("sign", "quantity_sign", (QUANTITY,), INT, Quantity.sign),   # called on a target
            Overload("ip.isCanonical", …),       # a namespaced function: dots in the name
            Overload("_+_", …),                  # overloads join those that a function already has
        ),
        types=(QUANTITY,),                       # names that expressions may write
        macros=(…),                              # rewritten while parsing, see webhook.cel.syntax.macros
        variables={"format": …},                 # variables with their types; values are bound at evaluation
        structs=(StructType(struct("Object"), {"spec": DYN}),),   # typed fields, `Object{spec: …}`
        call_costs={"quantity": …},              # costs by name of function or id, override the overloads'
        call_estimates={"quantity": …},          # the same for estimates
        validators=(Validator(check, "quantity"),),  # check calls once types are known
    )

Parametrised types are written as `list_of(parameter("T"))`. The packages, from the bottom up: `types` (types and their
values), `regex`, `functions` (with their costs), `syntax` (text to tree), `checker` (types and estimated costs of a
tree), `runtime` (tree to program), `ext` (standard library, cel-go's extensions), `environment`. `kubernetes` has
kube-apiserver's libraries, its environments and device selectors. All import from `webhook` only `budget`, `escapes`,
`release`, `issues`, `formats`, which reads times, quantities and names and knows nothing of objects, and the modules
that make importing cheap: `later`, `patterns` and `records`.
"""
