class UpdateEngineDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'name': 'str',
            'pressure': 'int',
        }
        self.attribute_map = {
            'name': 'name',
            'pressure': 'pressure',
        }

    @property
    def name(self):
        """
        Gets the name.
        """
        return self._name

    @property
    def pressure(self):
        """
        Gets the pressure.
        """
        return self._pressure
