# Update() and UpdateLargestPossibleRegion() of the filter's own, which let other Python threads run meanwhile: those
# that ITK's wheels have hold the interpreter's lock. In Python, as SWIG leaves out what overrides a virtual function.
string(APPEND ITK_WRAP_PYTHON_SWIG_EXT "%{\n#include \"CudaMedianPythonUpdate.h\"\n%}\n")
foreach(class IN LISTS CudaMedian_WRAPPED_CLASSES)
  string(APPEND ITK_WRAP_PYTHON_SWIG_EXT "%extend ${class} {
  void UpdateWithoutLock(bool largestPossibleRegion) { cudamedian::UpdateWithoutLock(self, largestPossibleRegion); }
%pythoncode %{
    def Update(self):
        \"\"\"Update the output. Other Python threads run meanwhile.\"\"\"
        self.UpdateWithoutLock(False)

    def UpdateLargestPossibleRegion(self):
        \"\"\"Update the whole output, whatever was requested of it. Other Python threads run meanwhile.\"\"\"
        self.UpdateWithoutLock(True)
%}
}
")
endforeach()
