//! Instructions of BPF, put together by name: just those that the programs of this folder use.
//!
//! Each instruction is a word: the operation, two registers, an offset and a number. Jumps name a
//! label, whose place is known when all is written. Whether a program is safe is for the kernel to
//! say, which verifies it; whether it does what it should is for the tests.
//!
//! Source: RFC 9669, "BPF Instruction Set Architecture".

use std::collections::BTreeMap;

/// A register: 0 has what the program returns, 1 what it is given, 10 its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register(u8);

pub(super) const R0: Register = Register(0);
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
pub(super) const R3: Register = Register(3);
pub(super) const R4: Register = Register(4);
pub(super) const R5: Register = Register(5);
pub(super) const R6: Register = Register(6);
pub(super) const R7: Register = Register(7);
pub(super) const R8: Register = Register(8);
pub(super) const R9: Register = Register(9);
pub(super) const STACK: Register = Register(10);

/// The second operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(Register),
    Number(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Self::Number(number)
    }
}

/// How much of memory an instruction moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Width {
    One = 0x10,
    Two = 0x08,
    Four = 0x00,
    Eight = 0x18,
}

/// Arithmetic on 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compute {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    Xor = 0xa0,
    Move = 0xb0,
    ShiftRightSigned = 0xc0,
}

/// What a jump compares, without signs.
#[derive(Clone, Copy, Debug)]
pub(super) enum If {
    Equal = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    Not = 0x50,
    Below = 0xa0,
}

/// What is done to a word of memory at once; the word before is left in the register, for
/// [`Atomic::CompareExchange`] in register 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atomic {
    Add = 0x01,
    Or = 0x41,
    Exchange = 0xe1,
    CompareExchange = 0xf1,
}

const LOAD: u8 = 0x01;
const STORE_NUMBER: u8 = 0x02;
const STORE: u8 = 0x03;
const JUMP: u8 = 0x05;
const JUMP_32: u8 = 0x06;
const COMPUTE_64: u8 = 0x07;
const MEMORY: u8 = 0x60;
const ATOMIC: u8 = 0xc0;
const BY_REGISTER: u8 = 0x08;
const LOAD_ADDRESS: u8 = 0x18;
const VALUE_OF_MAP: Register = Register(2);
/// A move with this offset is a cast between address spaces, to 0 from 1.
const CAST: i16 = 1;
const FROM_ARENA: i32 = 1;
const TO_BIG_ENDIAN: u8 = 0xdc;
const EXIT: u8 = 0x95;

/// A program that is being written.
#[derive(Debug, Default)]
pub(super) struct Code {
    instructions: Vec<u64>,
    labels: BTreeMap<&'static str, usize>,
    jumps: Vec<(usize, &'static str)>,
}

impl Code {
    fn put(&mut self, operation: u8, to: Register, from: Register, offset: i16, number: i32) {
        let registers = u64::from(from.0 << 4 | to.0);
        let offset = u64::from(offset as u16);
        let number = u64::from(number as u32);
        self.instructions.push(u64::from(operation) | registers << 8 | offset << 16 | number << 32);
    }

    /// `to = to ∘ operand`, or the operand itself for [`Compute::Move`].
    pub(super) fn compute(&mut self, what: Compute, to: Register, operand: impl Into<Operand>) {
        let operation = what as u8 | COMPUTE_64;
        match operand.into() {
            Operand::Register(from) => self.put(operation | BY_REGISTER, to, from, 0, 0),
            Operand::Number(number) => self.put(operation, to, R0, 0, number),
        }
    }

    /// The address of a byte of an arena as the program has it, from the one the process has.
    pub(super) fn cast_to_kernel(&mut self, address: Register) {
        let operation = Compute::Move as u8 | COMPUTE_64 | BY_REGISTER;
        self.put(operation, address, address, CAST, FROM_ARENA);
    }

    /// The lower 16 bits, from the network's order or to it.
    pub(super) fn swap_16(&mut self, to: Register) {
        self.put(TO_BIG_ENDIAN, to, R0, 0, 16);
    }

    /// `to = *(base + offset)`, zeros above.
    pub(super) fn load(&mut self, width: Width, to: Register, base: Register, offset: usize) {
        self.put(width as u8 | MEMORY | LOAD, to, base, offset as i16, 0);
    }

    /// `*(base + offset) = from`.
    pub(super) fn store(&mut self, width: Width, base: Register, offset: usize, from: Register) {
        self.put(width as u8 | MEMORY | STORE, base, from, offset as i16, 0);
    }

    /// `*(base + offset) = number`.
    pub(super) fn store_number(&mut self, width: Width, base: Register, offset: usize, to: i32) {
        self.put(width as u8 | MEMORY | STORE_NUMBER, base, R0, offset as i16, to);
    }

    /// Saves a register on the stack, at the `slot`th place, from 1.
    pub(super) fn save(&mut self, from: Register, slot: i16) {
        self.put(Width::Eight as u8 | MEMORY | STORE, STACK, from, -8 * slot, 0);
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, to: Register, slot: i16) {
        self.put(Width::Eight as u8 | MEMORY | LOAD, to, STACK, -8 * slot, 0);
    }

    /// Changes `*(base + offset)` at once with `with`.
    pub(super) fn atomic(&mut self, what: Atomic, base: Register, offset: usize, with: Register) {
        let operation = Width::Eight as u8 | ATOMIC | STORE;
        self.put(operation, base, with, offset as i16, i32::from(what as u8));
    }

    /// The address of a byte of a map's only value; the map by its descriptor.
    pub(super) fn load_value(&mut self, to: Register, map: i32, byte: usize) {
        self.put(LOAD_ADDRESS, to, VALUE_OF_MAP, 0, map);
        self.put(0, R0, R0, 0, byte as i32);
    }

    /// Goes to a label if it holds for the 64 bits.
    pub(super) fn jump(
        &mut self,
        when: If,
        left: Register,
        right: impl Into<Operand>,
        label: &'static str,
    ) {
        self.jump_by(JUMP, when, left, right.into(), label);
    }

    /// Goes to a label if it holds for the lower 32 bits.
    pub(super) fn jump_32(&mut self, when: If, left: Register, right: i32, label: &'static str) {
        self.jump_by(JUMP_32, when, left, Operand::Number(right), label);
    }

    fn jump_by(
        &mut self,
        class: u8,
        when: If,
        left: Register,
        right: Operand,
        label: &'static str,
    ) {
        self.jumps.push((self.instructions.len(), label));
        let operation = when as u8 | class;
        match right {
            Operand::Register(right) => self.put(operation | BY_REGISTER, left, right, 0, 0),
            Operand::Number(number) => self.put(operation, left, R0, 0, number),
        }
    }

    /// Goes to a label.
    pub(super) fn go(&mut self, label: &'static str) {
        self.jumps.push((self.instructions.len(), label));
        self.put(JUMP, R0, R0, 0, 0);
    }

    /// What follows has this name.
    pub(super) fn label(&mut self, label: &'static str) {
        self.labels.insert(label, self.instructions.len());
    }

    /// Ends with this number.
    pub(super) fn exit(&mut self, number: i32) {
        self.compute(Compute::Move, R0, number);
        self.put(EXIT, R0, R0, 0, 0);
    }

    /// The program. A jump to a label that is nowhere goes beyond it, which the kernel refuses.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for (place, label) in self.jumps {
            let to = self.labels.get(label).copied().unwrap_or(usize::from(u16::MAX));
            let distance = to as i64 - place as i64 - 1;
            self.instructions[place] |= u64::from(distance as u16) << 16;
        }
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `llvm-mc -triple bpfel` writes them.
    #[test]
    fn instructions_have_the_bytes_of_the_specification() {
        let mut code = Code::default();
        code.compute(Compute::Move, R2, R1);
        code.compute(Compute::Add, R2, 14);
        code.compute(Compute::ShiftRightSigned, R7, 63);
        code.load(Width::Four, R3, R1, 4);
        code.store(Width::Eight, R7, 8, R0);
        code.store_number(Width::Two, R2, 40, 0);
        code.save(R7, 2);
        code.atomic(Atomic::CompareExchange, R9, 16, R1);
        code.load_value(R9, 5, 64);
        code.swap_16(R4);
        code.label("here");
        code.jump(If::Above, R4, R3, "here");
        code.jump_32(If::Not, R4, 0x45, "end");
        code.go("end");
        code.label("end");
        code.exit(1);
        let bytes: Vec<[u8; 8]> = code.finish().iter().map(|word| word.to_le_bytes()).collect();
        let expected = [
            [0xbf, 0x12, 0, 0, 0, 0, 0, 0],
            [0x07, 0x02, 0, 0, 14, 0, 0, 0],
            [0xc7, 0x07, 0, 0, 63, 0, 0, 0],
            [0x61, 0x13, 4, 0, 0, 0, 0, 0],
            [0x7b, 0x07, 8, 0, 0, 0, 0, 0],
            [0x6a, 0x02, 40, 0, 0, 0, 0, 0],
            [0x7b, 0x7a, 0xf0, 0xff, 0, 0, 0, 0],
            [0xdb, 0x19, 16, 0, 0xf1, 0, 0, 0],
            [0x18, 0x29, 0, 0, 5, 0, 0, 0],
            [0, 0, 0, 0, 64, 0, 0, 0],
            [0xdc, 0x04, 0, 0, 16, 0, 0, 0],
            [0x2d, 0x34, 0xff, 0xff, 0, 0, 0, 0],
            [0x56, 0x04, 1, 0, 0x45, 0, 0, 0],
            [0x05, 0, 0, 0, 0, 0, 0, 0],
            [0xb7, 0, 0, 0, 1, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(bytes, expected);
    }
}
