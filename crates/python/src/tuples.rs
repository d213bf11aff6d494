//! Tuples, templates and statements, as Python passes them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use tidings_tasks::space::{SpaceError, Spaces};
use tidings_tasks_core::id::Attempt;
use tidings_tasks_core::message::{self, Answer};
use tidings_tasks_core::output::SharedBlob;
use tidings_tasks_core::tuple::{
    Field, In, Out, Pattern, Settled, Statement, Template, Term, Tuple, Type,
};

use crate::client::task_of;
use crate::handles::Blob;

/// A field that is to be 0: this value, 1: of the type that this names, 2: anything. Of one that is
/// put, 0: this value, 1: that of a field (in, field) that was found.
type Meant<'py> = (u8, Bound<'py, PyAny>);

/// What a statement wants: a space, what its fields are to be, and whether it is pulled.
pub(crate) type Wanted<'py> = (String, Vec<Meant<'py>>, bool);

/// What it puts: a space and fields.
pub(crate) type Put<'py> = (String, Vec<Meant<'py>>);

/// Whether what is pulled is gone at once; the try of a task to which it belongs, if it is not the
/// session's; and for how many milliseconds the statement waits.
pub(crate) type How = (bool, Option<(Vec<u8>, u32)>, Option<u64>);

/// A statement of Python's.
pub(crate) fn statement(
    ins: Vec<Wanted<'_>>,
    outs: Vec<Put<'_>>,
    settled: Vec<(u64, bool)>,
    (consumes, owner, wait_ms): How,
) -> PyResult<Statement> {
    let wanted = |(space, template, is_pulled): Wanted<'_>| {
        let patterns = template.iter().map(pattern).collect::<PyResult<_>>()?;
        Ok(In { space, template: Template(patterns), is_pulled })
    };
    let put = |(space, fields): Put<'_>| {
        Ok(Out { space, terms: fields.iter().map(term).collect::<PyResult<_>>()? })
    };
    let owner = match owner {
        Some((task, attempt)) => Some((task_of(&task)?, Attempt(attempt))),
        None => None,
    };
    Ok(Statement {
        ins: ins.into_iter().map(wanted).collect::<PyResult<_>>()?,
        outs: outs.into_iter().map(put).collect::<PyResult<_>>()?,
        settled: settled.into_iter().map(|(number, is_gone)| Settled { number, is_gone }).collect(),
        consumes,
        owner,
        wait_ms,
    })
}

/// Tuples that a completion puts, each with its space.
pub(crate) fn puts(puts: Vec<(String, Vec<Bound<'_, PyAny>>)>) -> PyResult<Vec<message::Put>> {
    let put = |(space, fields): (String, Vec<Bound<'_, PyAny>>)| {
        let fields = fields.iter().map(field).collect::<PyResult<Vec<_>>>()?;
        let tuple = Tuple::new(fields);
        tuple.check().map_err(PyValueError::new_err)?;
        Ok(message::Put { space, tuple })
    };
    puts.into_iter().map(put).collect()
}

/// The answer to a statement.
pub(crate) async fn execute(spaces: Spaces, statement: Statement) -> Result<Answer, String> {
    let spaces = match statement.owner {
        Some((task, attempt)) => spaces.of_task(task, attempt),
        None => spaces,
    };
    match spaces.execute(statement).await {
        Ok(Some(found)) => Ok(Answer::Matched(found)),
        Ok(None) => Ok(Answer::NoMatch),
        Err(SpaceError::Refused(refusal)) => Ok(Answer::Refused(refusal)),
        Err(error) => Err(error.to_string()),
    }
}

fn pattern((meant, value): &Meant<'_>) -> PyResult<Pattern> {
    Ok(match meant {
        0 => Pattern::Is(field(value)?),
        1 => Pattern::Of(kind(&value.extract::<String>()?)?),
        _ => Pattern::Any,
    })
}

fn term((meant, value): &Meant<'_>) -> PyResult<Term> {
    if *meant == 0 {
        return Ok(Term::Is(field(value)?));
    }
    let (of, field) = value.extract()?;
    Ok(Term::Found(of, field))
}

fn kind(name: &str) -> PyResult<Type> {
    Ok(match name {
        "int" => Type::Int,
        "float" => Type::Float,
        "str" => Type::Text,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "Handle" => Type::Handle,
        _ => return Err(PyTypeError::new_err(format!("{name} is no type of a field"))),
    })
}

/// A field. Truth values are integers in Python, and not here.
fn field(value: &Bound<'_, PyAny>) -> PyResult<Field> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Field::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>().map_err(|_| {
            PyValueError::new_err(format!("{value} is no integer of 64 bits: pass it as a text"))
        })?;
        return Ok(Field::Int(number));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Field::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Field::Text(value.extract()?));
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(Field::from(value.extract::<Vec<u8>>()?));
    }
    // A handle of Python's has one.
    if let Ok(blob) = value.getattr("_blob").and_then(|blob| Ok(blob.extract::<Blob>()?)) {
        return Ok(Field::from(SharedBlob::from(&blob)));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a field is an int, a float, a str, bytes, a bool or a handle, not {kind}: pickle it to \
         bytes, or put what is large with put() and its handle into the tuple"
    )))
}

/// A tuple of Python.
pub(crate) fn shown<'py>(py: Python<'py>, tuple: &Tuple) -> PyResult<Bound<'py, PyTuple>> {
    let one = |field: &Field| {
        Ok(match field {
            Field::Int(value) => value.into_pyobject(py)?.into_any(),
            Field::Float(value) => value.into_pyobject(py)?.into_any(),
            Field::Text(value) => value.into_pyobject(py)?.into_any(),
            Field::Bytes(value) => PyBytes::new(py, value).into_any(),
            Field::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Field::Handle(blob) => Bound::new(py, Blob::from(&**blob))?.into_any(),
        })
    };
    let fields: Vec<Bound<'_, PyAny>> = tuple.fields().iter().map(one).collect::<PyResult<_>>()?;
    PyTuple::new(py, fields)
}

/// Numbers and tuples, and whether they are claimed where that is asked for.
pub(crate) fn all(
    py: Python<'_>,
    tuples: impl Iterator<Item = (u64, Tuple, bool)>,
) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for (number, tuple, is_claimed) in tuples {
        list.append((number, shown(py, &tuple)?, is_claimed))?;
    }
    Ok(list)
}
